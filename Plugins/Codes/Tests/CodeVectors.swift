import SprocketCore

// Codes as Debian's encoders draw them, one character per module.

enum CodeVectors {
  /// `qrencode -8 -s 1 -m 0 -l M`, "Sprocket".
  static let word = """
    #######.###...#######
    #.....#..###..#.....#
    #.###.#.#.....#.###.#
    #.###.#....##.#.###.#
    #.###.#..##.#.#.###.#
    #.....#.#.....#.....#
    #######.#.#.#.#######
    ...........#.........
    #.#...##.####..#..#.#
    ..##....###..#.##..##
    .#..#.#.###..##.###.#
    .#####.##.#.#..#.#.##
    #..#.##..##..##.#..##
    ........#.##.##.#..#.
    #######.#..###..##..#
    #.....#..#.#.#####...
    #.###.#..#.#####.#.#.
    #.###.#..#......###..
    #.###.#.###...#.#..##
    #.....#..#..#..###...
    #######.###...####..#
    """

  /// The same with the bytes 0x61 0x00 0x62 0xFF 0x00.
  static let zeros = """
    #######..####.#######
    #.....#.#####.#.....#
    #.###.#..####.#.###.#
    #.###.#..###..#.###.#
    #.###.#.#.#.#.#.###.#
    #.....#..##.#.#.....#
    #######.#.#.#.#######
    ..........###........
    #.#.#.#...##....#..#.
    ##...#..##....#..#.#.
    #..##.#.#...#...#.#.#
    .#.###..#.....#......
    .#.#..##..#.#.#.#...#
    ........#.##.#.#.#.##
    #######..#.#.###...##
    #.....#....###.##.#..
    #.###.#.#..#.###.#.##
    #.###.#...#...##..##.
    #.###.#.#.#.#...##..#
    #.....#..##...##.#.#.
    #######.###.#.#.#.###
    """

  /// The same with "Grüße, 世界".
  static let words = """
    #######......###..#######
    #.....#..##..####.#.....#
    #.###.#.###.##.#..#.###.#
    #.###.#.#...#.##..#.###.#
    #.###.#.####...##.#.###.#
    #.....#.#.#.......#.....#
    #######.#.#.#.#.#.#######
    ........#####.#.#........
    #.#####...#.#.....#####..
    #..###..##..####...###..#
    #.#.#.#.#.#.####.##...##.
    ..#..#..###.##.##.#..##..
    .#.####...###.#.....#.#.#
    #.#............#.#....##.
    #.....#.#####...#....#.##
    #.##....#..#..###.###.##.
    #.#..###..##...#######.##
    ........###.###.#...##..#
    #######..#...####.#.#.###
    #.....#.###.##.##...####.
    #.###.#.#...#.#.#####..#.
    #.###.#.###.....#...#.#.#
    #.###.#.#####....##...#.#
    #.....#....#..######....#
    #######.#.##....#..#.####
    """

  /// `-l L`, 2,900 bytes, of which byte i is (7 i + i / 251) modulo 256: 177 rows of 177 modules, four to a
  /// digit.
  static let large = """
    fee4af466e6fa0871603e8c26fcd96c509b85d08763fc1455b3485cc6a1f3d904305a4de137c02a38dabed506e88f1ca47bc\
    54fa04bb09a792f53bf6d421e575f88bb746e50ad4ca35b028965d0a4772ea5314ba7f48e6b5dba86b11f8a5780fc39c8cf9\
    4b681fe52886ffb2d802ec16e44ec4c76b3440fbaec45ef22c699780c7632c5507faaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
    aaaaaaaafe0189a4119bb2c71d6005b1cfe05b1d1eb2913ec98300e68108bfd0365af8762bcfde773bfca3184f9af14679a6\
    8640c263e41cbe0a81e98f52c0536a3140bac42d0c6ba1073c1d2a71f6afc514b96a35f7fca9020b1053b649ab4fc4ccd692\
    e7e73da9a0bd67fc9f6c41ca31751fe1f275febf67fcb5ad08776e5288170c57e07136438a358be843f4bc420c75cf432a83\
    9264ba0dd8a5af60c6362fd7881d77e993532dc07facc118247feac7e5caf353abfdaf0793d0b1c471e81be0daf6f2a25868\
    78becaf31e1c42d135eb329f3a4c11d31bf5de992a08c3fcb1123c882c2ae91fb309ed279fb68f5d5f20563d09ee9ad5588d\
    9a127df0c50022cbf91c8977dab3447d50a361b1ea319d4460a0e4da79ec8256412c9d61c3c82c5a134382e53e408db603fe\
    f97bad1c8e656aaff4c73cc9521eecad82344402e9343b646c5b1c0f9e1cc9af3b501aab1c5e4bc77e60c2bfbdb12fac6fb3\
    42b98a9350d2f94d30708025bc1523ddb5ac73eca875cc6878c6fe1f48af05eb9f26de421dae6acf1771fdb50804bf11be55\
    1de0cb580907c9b73c4aee55d8388b3687394722f4ef318a49ebc181ac44c3672cce036e33dd1071465a8967f8da544c20e9\
    9301cba3fc68f51e3d23b477cae915aa2d6410f1ff9885f8a8d71fa224f8f860bfbf8ca77cfbd80e0fa7c70aaac559378c5c\
    82a6c6c7d10458bec544e2159c7d6a93196bfab90ab57fc36b580ba6a85607ab09427aaa51ff33513145a1143f62d154ff29\
    1a573431752fdb121fa6ac0fe70478fd92f6cfb05846ff0c338fa6c171faa684000c74a259d8ba77c1d24bfa9603649d7f82\
    69f3078d3fd77d7e5e1402eda03782fd31bea754fc4be96924bb4cd0c7bdca9071d80749947ecf300aae9dcb8ed79fa14621\
    20e5a98b1431a63ebfd35d36844ff2653973b2ea5c0f17fb0c67567d01db6248daacda816ad9340ac1ca8feb7e090a7321b7\
    4b94a34f9795a058543271c77e32251d99461274d12eb363f10ba434aedd0b025532646fc5f867eec30de62fcb8d5e068b2d\
    3784ad67d28c0b90a9a554ce5bf485c289664d52037e45a3d30eaddbd614c1dbf0224be9f71ba14fcc77e304f978266ff5d2\
    9d9c385ab6ab58becbac8114d75cf12b95b34bab3cfab92de7ba95359520c5896e1282531d9b853e0ca70b7044e80cd6913d\
    85ad5ac9a55faebb56454892f55ff40ea888fdc7e371d371c486cb8524e7384cc2edb43b91c2e084e381db0bac54032af722\
    9a3967de5f00a2d15812753347c40d4f71ceccb35c1e7692ea652615af1a7027dbe94cacf9648f78165f4fe02e9ccf92a002\
    e59f6d53f813aaa5886575f88aedf529829b0d86dd041ffc94c2e132b218d0f35b2ed9b50550c8cc92b96d4a6ff237589ce2\
    8cb309dd740cf1b87ebb49355df17f278cb6d81aed291f426f8a44af914fe31b944726b79fcfe69188c69176d939fd1a7dc0\
    c47cae44ebd990e73f2eb243d4a2ff5e5f199fd2a50b3364836acc9745eb3031fb1842ef6810159fa9144fa55e1af88762af\
    ee22a9fbbeed2f8cf043fce4653d7470fa35c4a8561475d40fc7d681dc43f8264452ad8e3aaec3392b39f76aa76a55ea59cb\
    16b3611a6b1b17745b1a492df114bf51107987b1f5c52f112f6b91fcfa48dcff5d88bfa5d086fdb109efddaf80f9461bffd1\
    8a14f5ef3c8be194fc3e90fb2a08b583e6101cb3ca775d8063ac7aff4ff288675e25817b7047fed678cd6a4cea4b77d3bd39\
    022cb9d60fe714b8b81597ac8b0f66c206d3e81a04a9076ef3a4df20afc5a09d3e729be8b61dd0dd70429a15bfc61239fba8\
    49d6c390f68520c68fc67c8bfe2a8b28122e511be3a01e6bbcab345a085239d23e047c7c9f324e90f926418a3d40bc1d3e82\
    36492de2962a866b06321ff449f7ba913fc6126e55a2b8b74270ac2710a7e2c069d7f24ecd7d42c3d3d277a0b2b244e3cf9a\
    1e52444e4df17c60ae656bbcda0598a92d4df0d7f738282bbfda9ef73d904bf028b64567ac6e6afd780eb4022664c4dbfcaf\
    3a0c9172cbc1125aa10ddb9264a89244b4ecd64d3442a9ddc34433a24bbdeb900219a7406fb6adb2e36613b7f2df937874c1\
    8ec3747dab3be9c4a1b418231dac54306d6a379ecdc3aa6fae9171402e5a14f066d7362caf520776204dff836bc9d5e69c19\
    eedb1db6cb48a9b3a9d7304c26a7648d5e0f56b1cf808ae610e9b89103132df69434f846c30877cdd495605ef043a0c47975\
    829fec589de48d5ada946d20855340df5b1e7bd27ecbd6c8b605b845f90b0c050de1791a2f904ff3a14f04feffbf108e61df\
    e77ccd2e3b9e3981d47d178c62f023bac28901a1849a529df30ea55a5e1b6af000daf77cbf94c42c562f543c7be60c22a856\
    f530aad90f583c73bafe3b42fff9af0fa74718fbeda53ff7dd6efd79a2cfec4440dac65b308c67dc19c594079450febb4669\
    f784732bc6f72a768126bc30ca2afd51a6a35214eb43781abfd1238051bb2deb199c43f1ce01a71aedd31124699d153f931a\
    1fce9264ffe2fc9fe9e12efa2992afb98a75fea26bf22fd6913b682096767be633a9c7631784a2595639c7b479a0fcbf4adc\
    713e2d92a3064e1702bb6f4c2f050950351ba90349aa471d4b64fe1adb344499ff470640721ddd179c27d45090e64c2149c6\
    42ff14b285665a8e8ec802e72c22935a55fef8c9984d97bacdd5fb04a6030d7eb9eb733e1c515e1299bb2c741fa6d303780a\
    29edb3f04901e6490c58071ec639876eb00a2dbe410d6a8f762575e3204f13523581f3372fc3384aa604205f8a41b0d4bb4a\
    b1fa04907e02a924ffeab9b3049dee9174e91691819b13ee8c0e14e85cfa4f876530407b284c77b42388aeba5afe691c3f5a\
    cab3d03a8ca6dd0f4eb90d7d213e3b03a21570240febd5b4cf870d3954270fdcf13118051c30b71eaf6271b947bd2049526b\
    f4821bc6ad5ee00b351dd1e803bb98137db5a6fb2f38f3246c4bb190d62a6f66af493f7831da2748b50cd35db0876336720d\
    6b2eb0669c6f269aa50876357ba20ce4f7042f6d305afc865584a12149ee36856de67d6e7354d680ea5378c6ccb6c1a52de0\
    55f732f826c81e2bd0ae458cb455f7c4bd8d1b31a46f481e5b1e83596b3241d34c72f0d8deba10493dd42fce72ed3b3a5d0f\
    c20177f18b3185be439cfa4369c9977f8750ed0fc3e8583da083c5a31422359ff4590a99ac2cebb686aebbb15bd487689304\
    7ff5a892a154995b1d4d835b1c7e4316b78fa018e06b7bda90147bfd6fe17e6f92b343f96f3a5f836cc4f8c57e1f9ca956fd\
    8c68a51c77e71dc5239b5464b5aec792fd8c73c71dc69ab24d5ab1e704eb76da06b96e33eb8ab246a745beeab11e6b1f104f\
    e831c71e8b107ae331f3f81b14a8de510afbd8abfbe67cdfc09f7bfb6df93fe813a7f95603ffb38ba2fe827c620aa8ac123c\
    e43d1e72c750d98f701db509c13c13289d498274b9deeac51984598b0a9b2f07c6e89db9fb2d2d61cf52cb2920dab69bc5e5\
    1be7530faa9f173c93cfe8b304a4c905acc029c2e74c6f8479b7b27caf914277ff8081d030b3f938370fe49af7e8d3b35049\
    d6258a185d3a43bf52ed049977a97647dfdcfe0dc4879831811b390fc4dacfb0c6c12b923917b4f3c6a9027fed3507e7ef02\
    7e174224f1bf35c7cbb082c5c912febdca479ddf42d938c22af5207be4f596412783c0ca3b454aff1126fd2f6a6af837500f\
    f32578a9565f665c3034892d99d98a8902ce835131a85fc125370ea791f56a5cebe413f8ee19aea1ddf4be404f9f10db6fd3\
    55086edb6259db23440ca94673cc00a0c198e58bee72573c8302d2fa862e393e09fb569a75b3bd080669bea9a98b3621a19c\
    02759576793acb162d912bb45008ad9d0471cf791fa366894b78cf158a1451675bc20a68c33915208fee26884812aef13704\
    7dc11bd9a8736bd03649ec61d70eae1c8403213674118470da475e08e26cb4b9a455e78d6e52d31a5b6cfe585f1248e45df3\
    88fedd334cfe8a1c9b2fe5f9b6af14619e782dce0f8373eb6855f4aecd7ed3f0cd53cfb6a9574a09a7eebdac412acfa815b4\
    8e615e328210ff780fb6cfda74bc9186dd1b94e97c72b085726b3572598a921c50922bbc79947e0d93446e4217701b62fea6\
    36fe05bf8fdd090bfb840cefd2e10afaf5a19fb0c6e18644988664675fe0c41daabc64520dc55bf42c416a3e602b65a782b0\
    a652eaa44d92a37aecabe6c4bab911c83291c7a8df160099513189671062d91188ec99110fb184efb9db04ff255e1fe375bd\
    f953e0dfefda8cfe26ac675ef34bf403ec2a9f677ddcb6a92f5406adfb791ea538532bae855e0af9d3ac51bf7cd314084083\
    3f2344ad2a225627623d8f7aa417ec11ba6dd3f667a3146782e41ba8fe14204c80fabc0d68e038e15be9ef8ab0546f6f3576\
    8a649c7793947cb50035ae021e79bf442e9a2a2d937482e61dbf9f529c16e53a4b7e8f32dedd3f0fdb5ad4d86a6ddfb9f8d5\
    0c96be67dc5b3866f7c7abefca4f74af55f4479454d08767abb951c261db60f1265cc138f749308268c6d856de3f7ae4f5cc\
    f65b1e5d73c81fa582f73a0c9d3604e430fcba35c08b25d8d6bb3e0c0e7b3565bc718005463e63fa8cdaf56dc62c194dc563\
    2d73e22e60b30c7137f3a59128866ec5426fd2481beca983c156f1af2eb04bbc328e9cd1e83547a81f49e6117cda8f360421\
    052a0d37da70e3c09f2a29704790ef083129a1e6b5790eb9fe31483e8f41ef3716a58c5ab1cd8bfcb2b6ac4bd35603898ef3\
    cc3f55d94dc2b91f7cf74338d009304185fa2786b9354123796823720d6513da25a64a8be2a3f1b66db66886173e6bb4f3f8\
    b324361dcff9c28ab3ba93bcb20c379d435815cfe93c80a0b682c5581cbdc8ed46c798b25409f69e4e9a2b984be797461bf1\
    d285916cce3c88e64e4529564c71e8f9cf5aaf1db243b79ef12ed00790b10515f80c23d90df44588dd94b202f221b0f30ae8\
    16195f5ae722ef10bc5c4e71d8d6b1fc9b57890abfc8a937ff2a4c9fd59a15ffe15a2fe5b8affc004cfd644617bc45438bac\
    5fa0b147147a0c72d95f457f962c4eb4f5c6eba04a9ea59feaea97647eada69caaf05ea44d1f1bdc71da045116fd0011a07b\
    4910f4a2316ba24b39fed305ff9b7622fae2557faa71c5feab026fcdd06ffa884269dc26ab5387b5ac72de8b2cb7bb45d182\
    ebd6d7f600a2834bfd31c877bacb3b8a9454278538e705b74aee87602f9ea37aed2b76e2c370ca38a1d7905cfea9f6ba6c7c\
    cf6239bf6d9d70fa94c76983722558a28
    """

  /// Bars of `zint -b KIND -d DATA`: the kind, what a reader says, and the modules.
  static let bars: [(type: CodeType, text: String, modules: String)] = [
    (
      .ean13, "5901234123457",
      "#.#...#.##.#..###.##..##..#..##.####.#..###.#.#.#.##..##.##.##..#....#.#.###..#..###.#...#"
        + "..#.#"
    ),
    (
      .ean8, "96385074",
      "#.#...#.##.#.####.####.#.##.###.#.#.#..###.###..#.#...#..#.###..#.#"
    ),
    (
      .upca, "036000291452",
      "#.#...##.#.####.#.#.####...##.#...##.#...##.#.#.#.##.##..###.#..##..##.#.###..#..###.##.##"
        + "..#.#"
    ),
    (
      .upce, "04252614",
      "#.#..###.#..#..##.###..#..##.##.#.####..##..#.#.#.#"
    ),
    (
      .code128, "Sprocket-128",
      "##.#..#....##.###.#...#.#..####..#..#..####.#...####.#.#....#.##..##....#..#.#.##..#....#."
        + ".####.#..#..##.###..#..###..##.##..###..#.###.#..##..####..#..#.##...###.#.##"
    ),
    (
      .code39, "SPROCKET39",
      "#..#.##.##.#.#.##.#.##..#.#.##.##.#..#.##.#.#.##..#.##.#.##.#..#.##.##.#..#.#.##.#.#.#..##"
        + ".##.#.##..#.#.#.#.##.##..#.##.##..#.#.#.#.##..#.##.#.#..#.##.##.#"
    ),
    (
      .code93, "Sprocket93",
      "#.#.####.##.#.##..#..##..#.#...#.##.#..##..#.##.##..#.#..##..#.#..#.##..#..##..#.##.#...#."
        + "#..##..#.#...##.#.#..##..#.##..#..#.#..##..#.##.#..##.#....#.#.#.#....#.#..#.###.#.##.###."
        + "#.#.####.#"
    ),
    (
      .i25, "12345670",
      "#.#.###.#...#.#.###...###.###.#...#.#...###.#...###...#.#.#.#.#...###...###.###.#"
    ),
    (
      .codabar, "A40156B",
      "#.##..#..#.#.##.#..#.#.#.#..##.#.#.##..#.##.#.#..#.#..#.#.##.#..#..#.##"
    ),
    (
      .databar, "0109501101530010",
      "#.....#.#.....#.#...#####.....#.####.##.#.###..#...##.###.#...#.##........###..###.##.###."
        + ".##.#"
    ),
    (
      .databarExpanded, "010950110153000317140704",
      "#..##.....#..#.###.########....#.###..#....#.##...#......##.##.#...#.######....###..##.#.."
        + "....#..##...###.#...#...##...######....#.#.#.....####..#..#..#..###.....#..#.########..###"
        + "..##...##.....#.#.#"
    ),
  ]
}
