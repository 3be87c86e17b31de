import CSDL2
import SprocketCapture

/// An SDL window that shows frames in NV12, and says where it was clicked.
final class View {
  enum Input {
    case click(x: Double, y: Double)
    case key(Character)
    case close
  }

  private let window: OpaquePointer
  private let renderer: OpaquePointer
  private var texture: OpaquePointer?
  private var size = (width: 0, height: 0)

  /// `nil` where there is no display: `SDL_VIDEODRIVER=dummy` draws into memory.
  init?(width: Int, height: Int) {
    guard SDL_Init(SDL_INIT_VIDEO) == 0,
      let window = SDL_CreateWindow(
        "Sprocket", Int32(SDL_WINDOWPOS_CENTERED_MASK), Int32(SDL_WINDOWPOS_CENTERED_MASK),
        Int32(width),
        Int32(height), SDL_WINDOW_RESIZABLE.rawValue),
      let renderer = SDL_CreateRenderer(window, -1, 0)
    else { return nil }
    (self.window, self.renderer) = (window, renderer)
  }

  deinit {
    SDL_DestroyTexture(texture)
    SDL_DestroyRenderer(renderer)
    SDL_DestroyWindow(window)
    SDL_Quit()
  }

  static var error: String { String(cString: SDL_GetError()) }

  /// In pixels.
  var viewSize: (width: Double, height: Double) {
    var (width, height): (Int32, Int32) = (0, 0)
    SDL_GetRendererOutputSize(renderer, &width, &height)
    return (Double(width), Double(height))
  }

  /// Shows a frame where the preview's geometry puts it.
  func show(_ frame: FrameCopy, _ geometry: PreviewGeometry) {
    let (width, height) = (frame.format.width, frame.format.height)
    if texture == nil || size != (width, height) {
      SDL_DestroyTexture(texture)
      texture = SDL_CreateTexture(
        renderer, SDL_PIXELFORMAT_NV12.rawValue, Int32(SDL_TEXTUREACCESS_STREAMING.rawValue),
        Int32(width), Int32(height))
      size = (width, height)
    }
    frame.bytes.withUnsafeBufferPointer { bytes in
      guard let luma = bytes.baseAddress else { return }
      _ = SDL_UpdateNVTexture(
        texture, nil, luma, Int32(width), luma + width * height, Int32((width + 1) / 2 * 2))
    }
    let place = geometry.pictureRect
    var target = SDL_FRect(
      x: Float(place.x), y: Float(place.y), w: Float(place.width), h: Float(place.height))
    SDL_RenderClear(renderer)
    SDL_RenderCopyF(renderer, texture, nil, &target)
    SDL_RenderPresent(renderer)
  }

  /// What the user did since the last call.
  func inputs() -> [Input] {
    var (found, event): ([Input], SDL_Event) = ([], SDL_Event())
    while SDL_PollEvent(&event) != 0 {
      switch SDL_EventType(event.type) {
      case SDL_QUIT: found.append(.close)
      case SDL_MOUSEBUTTONDOWN:
        found.append(.click(x: Double(event.button.x), y: Double(event.button.y)))
      case SDL_KEYDOWN:
        guard let scalar = Unicode.Scalar(UInt32(event.key.keysym.sym)) else { continue }
        found.append(.key(Character(scalar)))
      default: break
      }
    }
    return found
  }

  /// Puts a click into the queue, as a mouse does.
  func click(x: Double, y: Double) {
    var event = SDL_Event()
    event.type = SDL_MOUSEBUTTONDOWN.rawValue
    (event.button.x, event.button.y) = (Int32(x), Int32(y))
    SDL_PushEvent(&event)
  }

  /// Writes what is shown as a BMP.
  func save(_ path: String) -> Bool {
    let (width, height) = viewSize
    guard
      let surface = SDL_CreateRGBSurfaceWithFormat(
        0, Int32(width), Int32(height), 32, SDL_PIXELFORMAT_ARGB8888.rawValue)
    else { return false }
    defer { SDL_FreeSurface(surface) }
    SDL_RenderReadPixels(
      renderer, nil, SDL_PIXELFORMAT_ARGB8888.rawValue, surface.pointee.pixels,
      surface.pointee.pitch)
    return SDL_SaveBMP_RW(surface, SDL_RWFromFile(path, "wb"), 1) == 0
  }
}
