"use strict";
// The page of a run. Everything that it shows comes by one WebSocket; everything that it asks goes by POST.
const $ = (id) => document.getElementById(id);
const picture = $("picture"), over = $("over");
const pen = picture.getContext("2d", { alpha: false, desynchronized: true });
const overPen = over.getContext("2d");
let socket = null, pause = 250, wanted = null, known = null, status = null, before = null;
let hasEnded = false, isDrawing = false, line = null, point = null, trace = [], lastPicture = 0, rates = [];
const shows = { peaking: false, zebra: false, path: false };

function tell(text, isBad) {
  $("told").textContent = text;
  $("told").className = isBad ? "bad" : "";
}

// MARK: Asking

async function post(path, object) {
  const answer = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(object),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim());
  return JSON.parse(text);
}

async function ask(object) {
  try {
    const answer = await post("/ask", object);
    if (answer.ok === false) tell(answer.error, true);
    else tell(answer.note || "", false);
    return answer;
  } catch (error) {
    tell(error.message, true);
    return null;
  }
}

// MARK: The connection

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/socket`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    pause = 250;
    // Another run may have taken its place.
    before = status = null;
    hasEnded = isDrawing = false;
    why("waiting for a picture");
    lastPicture = performance.now();
    describe();
    see();
  };
  socket.onmessage = (message) => {
    if (typeof message.data === "string") news(JSON.parse(message.data));
    else { wanted = message.data; draw(); }
  };
  socket.onclose = () => {
    socket = null;
    if (!hasEnded) explain();
    setTimeout(connect, pause);
    pause = Math.min(pause * 2, 4000);
  };
}

function send(word) { if (socket && socket.readyState === WebSocket.OPEN) socket.send(word); }
function see() { send(document.hidden ? "hide" : "show"); }
document.addEventListener("visibilitychange", see);

function news(told) {
  if (told.status) { before = status; status = told.status; status.at = performance.now(); showStatus(); }
  if (told.news) {
    const event = told.news;
    if (event.event === "ended") tell(`${event.path || "a recording"}: ${event.reason || "complete"}`, false);
    if (event.event === "started") tell(`recording ${event.path}`, false);
    if (event.event === "control") setControl(event.control, event.value);
    if (event.event === "reconfigured") describe();
  }
  if (told.end) { hasEnded = true; why("the run has ended"); }
}

/** Says why there is no connection. */
async function explain() {
  why("the run does not answer; it may have ended, or this machine has no connection to it");
  try {
    const answer = await fetch("/state.json");
    if (answer.status === 401) why("this page needs the token of the new run; open it by the new run's link");
  } catch { /* It does not answer. */ }
}

function why(text) { $("why").textContent = text; }

// MARK: Pictures

async function draw() {
  if (isDrawing || !wanted) return;
  isDrawing = true;
  const bytes = wanted;
  wanted = null;
  try {
    const length = new DataView(bytes).getUint32(0);
    line = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    const image = await createImageBitmap(new Blob([new Uint8Array(bytes, 4 + length)], { type: "image/jpeg" }));
    if (picture.width !== image.width || picture.height !== image.height) {
      picture.width = over.width = image.width;
      picture.height = over.height = image.height;
    }
    pen.drawImage(image, 0, 0);
    image.close();
    lastPicture = performance.now();
    rates.push(lastPicture);
    while (rates.length && rates[0] < lastPicture - 2000) rates.shift();
    why("");
    measure();
  } catch (error) {
    why(`a picture could not be drawn: ${error.message}`);
  }
  isDrawing = false;
  send("drawn");
  if (wanted) draw();
}

setInterval(() => {
  if (!socket || document.hidden) return;
  if (performance.now() - lastPicture > 2000) {
    why(status && status.errors && status.errors.length ? status.errors[0] : "the camera gives no frames");
  }
}, 500);

// Brightness of a small copy of the picture: the engine computes nothing for this.
const small = document.createElement("canvas");
const smallPen = small.getContext("2d", { willReadFrequently: true });
let measured = 0;
function measure() {
  const now = performance.now();
  const isOver = shows.peaking || shows.zebra;
  if (now - measured < (isOver ? 60 : 200)) return drawOver(null);
  measured = now;
  small.width = 256;
  small.height = Math.max(1, Math.round(256 * picture.height / picture.width));
  smallPen.drawImage(picture, 0, 0, small.width, small.height);
  const { data, width, height } = smallPen.getImageData(0, 0, small.width, small.height);
  const luma = new Uint8Array(width * height);
  for (let i = 0; i < luma.length; i++) {
    luma[i] = (77 * data[4 * i] + 150 * data[4 * i + 1] + 29 * data[4 * i + 2]) >> 8;
  }
  drawHistogram(luma);
  drawWaveform(luma, width, height);
  drawOver({ luma, width, height });
}

function ink() { return getComputedStyle(document.body).color; }

function drawHistogram(luma) {
  const bins = new Uint32Array(256);
  for (const level of luma) bins[level]++;
  const canvas = $("histogram"), context = canvas.getContext("2d");
  const most = Math.max(1, ...bins.subarray(1, 255));
  context.clearRect(0, 0, 256, 80);
  context.fillStyle = ink();
  for (let level = 0; level < 256; level++) {
    const high = Math.min(80, 76 * bins[level] / most);
    context.fillRect(level, 80 - high, 1, high);
  }
}

function drawWaveform(luma, width, height) {
  const canvas = $("waveform"), context = canvas.getContext("2d");
  context.clearRect(0, 0, 256, 80);
  context.fillStyle = ink();
  context.globalAlpha = 0.15;
  for (let y = 0; y < height; y += 2) {
    for (let x = 0; x < width; x++) context.fillRect(x, 79 - luma[y * width + x] * 79 / 255, 1, 1);
  }
  context.globalAlpha = 1;
}

let marks = null;
function drawOver(found) {
  if (found) marks = found;
  overPen.clearRect(0, 0, over.width, over.height);
  const across = over.width / small.width, down = over.height / small.height;
  if (marks && (shows.peaking || shows.zebra)) {
    const { luma, width, height } = marks;
    for (let y = 1; y < height - 1; y++) {
      for (let x = 1; x < width - 1; x++) {
        const i = y * width + x;
        const edge = Math.abs(4 * luma[i] - luma[i - 1] - luma[i + 1] - luma[i - width] - luma[i + width]);
        if (shows.peaking && edge > 90) {
          overPen.fillStyle = "#ff2d2d";
          overPen.fillRect(x * across, y * down, across, down);
        }
        if (shows.zebra && luma[i] >= 250 && (x + y) % 4 < 2) {
          overPen.fillStyle = "#000";
          overPen.fillRect(x * across, y * down, across, down);
        }
      }
    }
  }
  const motion = line && (line.stabilize || line.motion);
  if (shows.path && motion) {
    trace.push([motion.path_x || 0, motion.path_y || 0]);
    if (trace.length > 120) trace.shift();
    const [x0, y0] = trace[trace.length - 1];
    overPen.strokeStyle = "#3ddc84";
    overPen.lineWidth = Math.max(2, over.width / 400);
    overPen.beginPath();
    for (const [x, y] of trace) overPen.lineTo(over.width / 2 + x0 - x, over.height / 2 + y0 - y);
    overPen.stroke();
  }
  if (point) {
    const size = over.width / 24;
    overPen.strokeStyle = "#ffd60a";
    overPen.lineWidth = Math.max(2, over.width / 400);
    overPen.strokeRect(point.x * over.width - size / 2, point.y * over.height - size / 2, size, size);
  }
}

// MARK: Tapping

/** The point of the picture, in fractions, of an event: the canvas may have bars. */
function pointOf(event) {
  const box = picture.getBoundingClientRect();
  const scale = Math.min(box.width / picture.width, box.height / picture.height);
  const [width, height] = [picture.width * scale, picture.height * scale];
  const x = (event.clientX - box.left - (box.width - width) / 2) / width;
  const y = (event.clientY - box.top - (box.height - height) / 2) / height;
  return x >= 0 && x <= 1 && y >= 0 && y <= 1 ? { x, y } : null;
}

async function tap(at) {
  if (!at || !known) return;
  point = at;
  drawOver(null);
  let sensor;
  try { sensor = await post("/point", at); } catch (error) { return tell(error.message, true); }
  const place = `${sensor.x.toFixed(5)}/${sensor.y.toFixed(5)}`;
  const asked = [];
  for (const stage of ["meter", "focus"]) {
    if (known.stages.includes(stage)) asked.push([stage, { point: place }]);
  }
  if (known.stages.includes("autofocus")) asked.push(["autofocus", { mode: "auto" }]);
  if (!asked.length) {
    return tell("the run has no stages that focus or expose; start it with --auto-exposure and --auto-focus", true);
  }
  for (const [stage, settings] of asked) {
    const answer = await ask({ request: "set", stage, settings });
    if (!answer || answer.ok === false) return;
  }
  tell(`focus and exposure at ${place}`, false);
}

picture.addEventListener("click", (event) => tap(pointOf(event)));
picture.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const now = point || { x: 0.5, y: 0.5 };
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    tap(now);
  } else if (steps[event.key]) {
    event.preventDefault();
    const [x, y] = steps[event.key];
    const clamp = (value) => Math.min(Math.max(value, 0), 1);
    point = { x: clamp(now.x + x / 40), y: clamp(now.y + y / 40) };
    drawOver(null);
  }
});

// MARK: Controls and buttons

async function describe() {
  try { known = await (await fetch("/controls.json")).json(); } catch { return; }
  $("source").textContent = known.source;
  document.title = `${known.source} - Sprocket`;
  $("photo").hidden = !known.photographs;
  $("record").hidden = $("stop").hidden = !known.records;
  const form = $("controls");
  form.replaceChildren(...known.controls.map(control));
  $("settings").hidden = !known.controls.length;
  if (status) showStatus();
}

function control(described) {
  const label = document.createElement("label");
  const name = document.createElement("span");
  name.textContent = described.name.replaceAll("_", " ") + (described.unit ? ` (${described.unit})` : "");
  const value = document.createElement("output");
  let input;
  if (described.kind === "menu") {
    input = document.createElement("select");
    for (const [text, number] of Object.entries(described.choices).sort((a, b) => a[1] - b[1])) {
      input.append(new Option(text.replaceAll("_", " "), number));
    }
  } else if (described.kind === "button") {
    input = document.createElement("button");
    input.type = "button";
    input.textContent = "Do";
    input.onclick = () => ask({ request: "control", name: described.name, value: 1 });
  } else {
    input = document.createElement("input");
    input.type = described.kind === "boolean" ? "checkbox" : "range";
    const { minimum, maximum, step } = described;
    // What spans decades, such as exposure, moves by factors.
    if (input.type === "range" && minimum > 0 && maximum / minimum > 100) {
      input.dataset.factors = "";
      [input.min, input.max, input.step] = [Math.log(minimum), Math.log(maximum), "any"];
    } else {
      [input.min, input.max, input.step] = [minimum, maximum, step || (maximum - minimum) / 1000 || "any"];
    }
  }
  input.dataset.control = described.name;
  input.setAttribute("aria-label", name.textContent);
  label.append(name, value, input);
  if (described.kind !== "button") {
    input.addEventListener("input", () => {
      let number = input.type === "checkbox" ? Number(input.checked) : Number(input.value);
      if ("factors" in input.dataset) number = rounded(Math.exp(number), described);
      value.textContent = shown(number);
      steer(described.name, number);
    });
  }
  return label;
}

/** Three digits of a value, within its range and at one of its steps. */
function rounded(value, { minimum, maximum, step }) {
  const near = step ? minimum + step * Math.round((value - minimum) / step) : Number(value.toPrecision(3));
  return Math.min(Math.max(near, minimum), maximum);
}

function shown(number) {
  return String(Math.abs(number) >= 1000 ? Math.round(number) : Number(number.toPrecision(4)));
}

// A slider that moves sends its newest value when the one before is answered.
const steering = new Map();
async function steer(name, value) {
  const isBusy = steering.has(name);
  steering.set(name, value);
  if (isBusy) return;
  while (steering.has(name)) {
    const next = steering.get(name);
    await ask({ request: "control", name, value: next });
    if (steering.get(name) === next) steering.delete(name);
  }
}

function setControl(name, value) {
  const input = document.querySelector(`[data-control="${CSS.escape(name)}"]`);
  if (!input || value === null || value === undefined || steering.has(name)) return;
  if (document.activeElement === input && input.matches(":active")) return;
  if (input.type === "checkbox") input.checked = value !== 0;
  else input.value = "factors" in input.dataset ? Math.log(value) : value;
  const output = input.parentElement.querySelector("output");
  if (output) output.textContent = input.tagName === "SELECT" ? "" : shown(value);
}

$("photo").onclick = () => ask({ request: "photo" });
$("record").onclick = () => ask({ request: "record" });
$("stop").onclick = () => ask({ request: "stop" });
for (const name of Object.keys(shows)) {
  $(name).onclick = () => {
    shows[name] = !shows[name];
    $(name).setAttribute("aria-pressed", shows[name]);
    trace = [];
    drawOver(null);
  };
}

// MARK: State

function row(...cells) {
  const line = document.createElement("tr");
  for (const text of cells) {
    const cell = document.createElement("td");
    cell.textContent = text;
    line.append(cell);
  }
  return line;
}

function showStatus() {
  const span = before ? Math.max(0.001, status.elapsed_s - before.elapsed_s) : 0;
  const rate = span ? (status.produced - before.produced) / span : status.frames_per_s;
  const drawn = rates.length > 1 ? 1000 * (rates.length - 1) / (rates[rates.length - 1] - rates[0]) : 0;
  const lost = Object.entries(status.lost || {}).filter(([, count]) => count > 0)
    .map(([fate, count]) => `${count} ${fate}`).join(", ");
  const recording = status.recording.map((one) => ` \u25cf ${(one.duration_s || 0).toFixed(1)} s`).join("");
  $("figures").textContent = `${status.width}x${status.height} ${status.format}, ${rate.toFixed(1)} frames/s, `
    + `${drawn.toFixed(1)} shown, ${lost || "no loss"}${recording}`;
  $("ring").textContent = `Ring: ${status.ring.used} of ${status.ring.depth} positions used`;
  $("record").setAttribute("aria-pressed", status.recording.length > 0);
  for (const [name, value] of Object.entries(status.controls || {})) setControl(name, value);
  if (!$("chain").open) return;
  const old = new Map();
  for (const lane of before ? before.lanes : []) for (const step of lane.steps) old.set(step.name, step);
  const steps = [];
  for (const lane of status.lanes) {
    for (const step of lane.steps) {
      const was = old.get(step.name) || { work_s: 0, frames: 0 };
      const frames = step.frames - was.frames;
      steps.push(row(step.name, span ? (frames / span).toFixed(1) : "",
        frames > 0 ? (1000 * (step.work_s - was.work_s) / frames).toFixed(2) : ""));
    }
  }
  $("steps").replaceChildren(...steps);
  $("ledger").replaceChildren(...Object.entries(status.sinks).map(([name, counts]) =>
    row(name, Object.entries(counts).map(([fate, count]) => `${count} ${fate}`).join(", "))));
}

connect();
