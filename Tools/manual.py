"""Prints the manual page of a program, made of what the program says of itself.

    python3 Tools/manual.py PROGRAM > sprocket.1

Commands and options come from `PROGRAM --experimental-dump-help`, stages, sources and sinks from `PROGRAM
stages --json`. The page is in mdoc(7), which man-db and mandoc render.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

DESCRIPTION = """
{name} takes frames from a source (a camera, a video file, a dump, or the built-in scene), past a chain of
stages, into sinks. Frames of a live source are dropped where a stage is too slow, and frames of a file wait;
either way each frame that the source produced ends in exactly one fate for each sink, and a run ends with the
account of them.
"""
STATUS = [
    ("0", "The run is done, also where Ctrl-C, SIGTERM or a hangup ended it after it had begun."),
    ("1", "Something failed, or the run was stopped before it began."),
    ("2", "It was asked for in a wrong way. One sentence on standard error says what to change."),
]
FILES = [
    ("NAME.partial.EXT", "A file that is still being written, or what a crash left of it. It gets its own "
     "name when it is complete and on the disk."),
]
EXAMPLES = [
    ("Hold a shaking picture still:",
     "run --source file:clip.mov --stage stabilize:mode=standard,crop=0.08 --movie steady.mov"),
    ("Keep all that a camera sends, and run the same frames through another chain later:",
     "run --source camera --duration 5s --dump take.mcap",
     "run --source replay:take.mcap --stage meter --checksum"),
    ("See what a stage can be set to:", "stages stabilize"),
]
SEE_ALSO = ["ffmpeg 1", "ffprobe 1"]


def asked(program, *arguments):
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def escaped(text):
    """Text that roff takes as it is; `code` becomes bold."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![\w-])--(?=\w)", r"\\-\\-", text)
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fP", text)
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)


def prose(text):
    """Each sentence on lines of its own, none of which is a macro."""
    lines = []
    for sentence in re.split(r"(?<=[.?!]) +(?=[A-Z`-])", " ".join(text.split())):
        # Escapes are written in one word each.
        lines += textwrap.wrap(escaped(sentence), 78, break_long_words=False, break_on_hyphens=False)
    return [("\\&" if line[0] in ".'" else "") + line for line in lines]


def word(text):
    """One argument of a macro."""
    text = escaped(text).replace('"', "\\(dq")
    return f'"{text}"' if " " in text or text == "" else f"\\&{text}"


def sentence(text):
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else text + "."


def tagged(items, style="-width Ds"):
    """A list of tags, each with lines behind it."""
    lines = [f".Bl -tag {style}"]
    for tag, body in items:
        lines += [f".It {tag}", *body]
    return [*lines, ".El"]


def listed(command):
    """The arguments of a command that are shown; what all commands have is said once."""
    return [argument for argument in command.get("arguments", [])
            if argument["shouldDisplay"] and names(argument) not in (["help"], ["version"])]


def names(argument):
    return [name["name"] for name in argument.get("names", []) if name["kind"] == "long"]


def synopsis(command):
    lines = [".Nm", f".Cm {command['commandName']}"]
    arguments = listed(command)
    if sum(argument["kind"] == "option" for argument in arguments) > 3:
        return [*lines, ".Op Ar option ..."]
    for argument in arguments:
        if argument["kind"] == "positional":
            value = word(argument["valueName"])
            lines.append(f".Op Ar {value}" if argument["isOptional"] else f".Ar {value}")
        else:
            lines.append(f".Op {flag(argument)}")
    return lines


def flag(argument):
    text = "Fl \\-" + names(argument)[0]
    return text + (f" Ar {word(argument['valueName'])}" if argument["kind"] == "option" else "")


def described(argument):
    text = sentence(argument.get("abstract", ""))
    if argument["isRepeating"]:
        text += " May be given several times."
    return prose(text)


def command_section(command):
    lines = [f".Ss {command['commandName']}", *prose(command["abstract"])]
    for line in filter(None, command.get("discussion", "").splitlines()):
        # Lines that are indented are typed.
        lines += [".Dl " + escaped(line.strip())] if line.startswith(" ") else [".Pp", *prose(line)]
    groups = {}
    for argument in listed(command):
        groups.setdefault(argument.get("sectionTitle"), []).append(argument)
    # Options without a title come first.
    for title, arguments in sorted(groups.items(), key=lambda group: group[0] is not None):
        lines += [".Pp", *prose(sentence(title))] if title else []
        lines += tagged([
            (flag(argument) if argument["kind"] != "positional" else f"Ar {word(argument['valueName'])}",
             described(argument)) for argument in arguments])
    return lines


def setting_text(setting):
    unit = f" {setting['unit']}" if setting["unit"] else ""
    usual = f"{setting['default']}{unit}" if setting["default"] else "none"
    return sentence(f"{setting['text']}. Default {usual}; {setting['allowed']}")


def field_text(field):
    return ", ".join(filter(None, (field["kind"], field["unit"])))


def kind_item(kind):
    tag = f"Cm {kind['name']}"
    if kind.get("argument"):
        behind = f"\\&: Ns Ar {word(kind['argument'])}"
        tag += f" Ns Op {behind}" if kind["argument_optional"] else f" Ns {behind}"
    body = prose(sentence(kind["text"][0].upper() + kind["text"][1:]))
    if kind["settings"]:
        body += tagged([(f"Cm {setting['name']} Ns = Ns Ar value", prose(setting_text(setting)))
                        for setting in kind["settings"]])
    if kind.get("reports"):
        fields = [field["name"] for field in kind["reports"]]
        body += [".Pp", "It reports:"]
        body += tagged([(f"Va {field['name']}", prose(field_text(field))) for field in kind["reports"]],
                       f"-width {max(fields, key=len)} -compact")
    return tag, body


def kinds_section(title, introduction, kinds):
    return [f".Sh {title}", *prose(introduction), *tagged([kind_item(kind) for kind in kinds])]


def page(program):
    name = pathlib.Path(program).name
    root = json.loads(asked(program, "--experimental-dump-help"))["command"]
    kinds = json.loads(asked(program, "stages", "--json"))
    version = asked(program, "--version").strip()
    commands = [command for command in root["subcommands"]
                if command["shouldDisplay"] and command["commandName"] != "help"]
    # Date of the sources, so that two builds of one tree are identical; else today.
    stamp = float(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp()))
    date = datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc)
    lines = [
        f".\\\" Made by Tools/manual.py from what {name} says of itself.",
        f".Dd {date:%B} {date.day}, {date.year}", f".Dt {name.upper()} 1", f".Os {version}",
        ".Sh NAME", f".Nm {name}", f".Nd {root['abstract'].rstrip('.')}", ".Sh SYNOPSIS"]
    for command in commands:
        lines += synopsis(command)
    lines += [".Sh DESCRIPTION", *prose(DESCRIPTION.format(name=name)), ".Sh COMMANDS",
              *prose("Each takes --help, too; --version prints the version.")]
    for command in commands:
        lines += command_section(command)
    of = {noun: [kind for kind in kinds if kind["kind"] == noun] for noun in ("stage", "source", "sink")}
    lines += kinds_section(
        "STAGES", "The option --stage NAME:KEY=VALUE,... adds one to the chain, with its settings.",
        of["stage"])
    lines += kinds_section(
        "SOURCES", "The option --source names one; --source-set KEY=VALUE sets what it has.", of["source"])
    lines += kinds_section(
        "SINKS", "The option --sink NAME:ARGUMENT,KEY=VALUE,... adds one; most have an option of their own.",
        of["sink"])
    lines += [".Sh FILES", *tagged([(f"Pa {word(file)}", prose(text)) for file, text in FILES])]
    lines += [".Sh EXIT STATUS", *tagged([(code, prose(text)) for code, text in STATUS])]
    lines.append(".Sh EXAMPLES")
    for number, (text, *commands) in enumerate(EXAMPLES):
        lines += [".Pp"] * (number > 0) + prose(text)
        lines.append(".Bd -literal -offset indent")
        for command in commands:
            pieces = textwrap.wrap(f"$ {name} {command}", 66, break_long_words=False, break_on_hyphens=False,
                                   subsequent_indent="    ")
            lines += [piece.replace("-", "\\-") + (" \\e" if piece is not pieces[-1] else "")
                      for piece in pieces]
        lines.append(".Ed")
    lines.append(".Sh SEE ALSO")
    lines += [f".Xr {page}" + (" ," if page != SEE_ALSO[-1] else "") for page in SEE_ALSO]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("manual: say whose: python3 Tools/manual.py PROGRAM")
    try:
        print(page(sys.argv[1]), end="")
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        sys.exit(f"manual: {sys.argv[1]} does not describe itself: {error}")
