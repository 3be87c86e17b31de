internal import CSprocketSystem

/// Warns where this program was compiled for processors without AVX2, and runs on one that has it: loops over
/// pixels then take three to four times as long as they could.
/// `swift build` compiles so unless it is told otherwise; `make` asks for AVX2 where it finds it.
var buildWarning: String? {
  missedAVX2(isForAVX2: sprocket_is_built_for_avx2() != 0, hasAVX2: sprocket_has_avx2() != 0)
}

func missedAVX2(isForAVX2: Bool, hasAVX2: Bool) -> String? {
  guard !isForAVX2, hasAVX2 else { return nil }
  return "built for processors without AVX2, which this one has: loops over pixels take three to "
    + "four times as long as they could; build with `-Xswiftc -target-cpu -Xswiftc "
    + "haswell`"
}
