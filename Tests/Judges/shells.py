"""Shells that complete: what a line becomes where someone presses Tab, and what is offered."""
import os
import pty
import select
import subprocess

from program import LIMIT


class Terminal:
    """An interactive shell, and what it writes."""

    def __init__(self, command, environment):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, close_fds=True,
                                        env=environment, start_new_session=True)
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, last):
        """All up to `last`."""
        text = ""
        while last not in text:
            assert select.select([self.master], [], [], LIMIT)[0], text
            text += os.read(self.master, 1 << 16).decode(errors="replace")
        return text


# Ctrl-X Ctrl-L prints the line between marker words; Ctrl-U empties it.
BASH = """
PS1= PS2=
bind 'set show-all-if-ambiguous on' 'set bell-style none' 'set page-completions off'
bind 'set completion-query-items 0' 'set enable-bracketed-paste off'
show() { echo; echo "LINE[$READLINE_LINE]END"; }
bind -x '"\\C-x\\C-l": show'
"""
ZSH = """
PROMPT= RPROMPT=
autoload -Uz compinit && compinit -u -D
show() { print -rn -- "LINE[$BUFFER]END" >$TTY }
zle -N show; bindkey -e; bindkey '^X^L' show
setopt no_beep list_ambiguous auto_list; LISTMAX=0; unsetopt prompt_sp
"""


def bash(script, folder, lines):
    """Each line as it is after Tab, and what was offered; `script` is read first."""
    start = folder / "bashrc"
    start.write_text(f"{BASH}\nsource '{script}'\n")
    return completed(["bash", "--noprofile", "--rcfile", start, "-i"], folder, lines)


def zsh(script, folder, lines):
    """The same; the script is found by its folder, as it is where it was installed."""
    (folder / ".zshrc").write_text(f"fpath=('{script.parent}' $fpath)\n{ZSH}")
    return completed(["zsh", "-i"], folder, lines)


def completed(command, folder, lines):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ZDOTDIR": str(folder), "TERM": "dumb",
                   "LC_ALL": "C.UTF-8", "COLUMNS": "200", "LINES": "100", "INPUTRC": "/dev/null"}
    found = []
    with Terminal(command, environment) as shell:
        shell.type("echo READY$((1))\n")
        shell.read("READY1")
        for line in lines:
            shell.type(f"{line}\t\x18\x0c")
            text = shell.read("]END")
            offered, _, after = text.rpartition("LINE[")
            found.append((after[:after.index("]END")], offered.split()))
            shell.type("\x15")
    return found


def fish(script, folder, line):
    """What fish offers, and what it says of each."""
    command = f"source '{script}'; complete --do-complete '{line}'"
    text = subprocess.run(["fish", "--no-config", "--command", command], capture_output=True, text=True,
                          timeout=LIMIT, check=True, cwd=folder,
                          env={"PATH": os.environ["PATH"], "HOME": str(folder)}).stdout
    return dict((entry + "\t").split("\t")[:2] for entry in text.splitlines())
