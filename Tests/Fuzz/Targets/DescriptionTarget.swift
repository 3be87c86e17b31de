internal import SprocketCore
internal import SprocketPipelines

/// A description of a run, as YAML and as JSON.
func feedDescription(_ input: [UInt8]) {
  do throws(TreeError) { feed(try Tree(yaml: input)) } catch {}
  do throws(TreeError) { feed(try Tree(json: input)) } catch {}
}

private let kinds = try? Kinds(stages: [], audioStages: [])

/// What was read is written, and read as the same.
private func feed(_ tree: Tree) {
  guard let kinds else { return }
  do throws(DescriptionErrors) {
    let run = try Run(tree, kinds, in: "/")
    let written = Tree(run)
    let again = [
      try? Tree(json: Array(written.json.utf8)), try? Tree(yaml: Array(written.yaml.utf8)),
    ]
    for tree in again {
      guard let tree else { return expect(false, "what was written is not read: \(written.json)") }
      let read = try Run(tree, kinds, in: "/")
      expect(read == run, "\(written.json) is read as \(Tree(read).json)")
    }
  } catch {}
}
