internal import ArgumentParser

/// `completions`: prints the script for a shell, for the program's own name.
struct CompletionsCommand: ParsableCommand {
  enum Shell: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish
  }

  static let configuration = CommandConfiguration(
    commandName: "completions",
    abstract: "Prints a script with which a shell completes commands, options, names and settings.",
    discussion: """
      In ~/.bashrc: source <(\(programName) completions bash). In ~/.zshrc, behind compinit: \
      source <(\(programName) completions zsh). In ~/.config/fish/config.fish: \
      \(programName) completions fish | source.
      """)

  @Argument(help: ArgumentHelp("The shell.", valueName: "bash | zsh | fish"))
  var shell: Shell

  func execute() {
    for line in script.split(separator: "\n", omittingEmptySubsequences: false) {
      Console.output.say(String(line))
    }
  }

  /// Each script asks the program (`Completer.Answer.lines`), adds no space after `:` and `=`, and leaves
  /// file names to the shell.
  private var script: String {
    // zsh finds the file by the function's name.
    let kept = programName.map { letter in
      letter.isASCII && (letter.isLetter || letter.isNumber || "-.+".contains(letter))
        ? letter : "_"
    }
    let function = "_" + String(kept)
    let name =
      "'"
      + programName.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
    return switch shell {
    case .bash: Self.bash(function, name)
    case .zsh: Self.zsh(function, name)
    case .fish: Self.fish(function, name)
    }
  }

  /// bash replaces only the part of a word after the last character of COMP_WORDBREAKS, such as a colon, and
  /// splits COMP_WORDS there. So the script takes the words from the line.
  private static func bash(_ function: String, _ name: String) -> String {
    #"""
    # Completes the arguments of \#(name) in bash.
    \#(function)() {
      local line=${COMP_LINE:0:COMP_POINT} words word text head before
      read -ra words <<<"$line"
      [[ $line == *[[:space:]] ]] && words+=("")
      word=${words[-1]}
      before=${word%"${word##*["$COMP_WORDBREAKS"]}"}
      {
        IFS= read -r head
        while read -r word text; do
          if [[ $word == "*" ]]; then
            compopt -o default
          else
            [[ $word == *[:=] ]] && compopt -o nospace
            word=$head$word
            COMPREPLY+=("${word#"$before"}")
          fi
        done
      } < <("$1" \#(Completer.option) "${words[@]:1}" 2>/dev/null)
    }
    complete -F \#(function) \#(name)
    """#
  }

  private static func zsh(_ function: String, _ name: String) -> String {
    #"""
    #compdef \#(programName)
    # Completes the arguments of \#(name) in zsh.
    \#(function)() {
      local line word
      local -a lines open closed
      lines=("${(@f)$("${(Q)words[1]}" \#(Completer.option) \
        "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
      compset -P "${(b)lines[1]}"
      for line in "${(@)lines[2,-1]}"; do
        word=${line%% *}
        line=${word//:/\\:}:${line#* }
        case $word in
          '*') _files ;;
          *[:=]) open+=("$line") ;;
          *) closed+=("$line") ;;
        esac
      done
      _describe argument open -S '' -- closed
    }
    if [[ $funcstack[1] == \#(function) ]]; then \#(function) "$@"; else compdef \#(function) \#(name); fi
    """#
  }

  private static func fish(_ function: String, _ name: String) -> String {
    #"""
    # Completes the arguments of \#(name) in fish.
    function _\#(function)
      set -l words (commandline -opc)
      set -l word "$(commandline -ct)"
      set -l lines (command $words[1] \#(Completer.option) $words[2..] "$word" 2>/dev/null)
      for line in $lines[2..]
        if test "$line" = '*'
          set -l typed (string sub -s (math (string length -- "$lines[1]") + 1) -- "$word")
          printf '%s\n' $lines[1](__fish_complete_path "$typed")
        else
          set -l parts (string split -m 1 ' ' -- $line)
          printf '%s\t%s\n' $lines[1]$parts[1] "$parts[2]"
        end
      end
    end
    complete -c \#(name) -f -a '(_\#(function))'
    """#
  }
}
