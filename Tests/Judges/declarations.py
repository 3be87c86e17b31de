"""Public names of Swift modules, read from their text: types, nested types, members, cases."""
import re

from program import ROOT

TYPES = {"struct", "class", "enum", "actor", "protocol", "extension"}
DECLARATION = re.compile(
    r"(?P<type>\b(?:struct|class|enum|actor|protocol|extension)\s+(?!func\b|var\b|let\b)(?P<name>[\w.]+))"
    r"|\bcase\s+(?P<cases>[^\n{};]*(?:,\s*\n[^\n{};]*)*)"
    r"|\b(?:let|var)\s+(?P<values>\w+(?:\s*,\s*\w+)*)\s*[:=]"
    r"|\b(?:func|typealias|associatedtype)\s+(?P<member>\w+)"
    r"|\b(?P<init>init)\b\s*[?!]?\s*[<(]"
    r"|(?P<brace>[{}])")


def end_of_string(text, start):
    """The place behind a string's end. Interpolations may have strings of their own."""
    hashes = re.compile(r"#*").match(text, start).group()
    place = start + len(hashes)
    quote = '"""' if text.startswith('"""', place) else '"'
    end, escape = quote + hashes, "\\" + hashes
    place += len(quote)
    while place < len(text) and not text.startswith(end, place):
        if text.startswith(escape, place):
            place += len(escape)
            if text[place:place + 1] == "(":
                place = end_of_interpolation(text, place)
                continue
        place += 1
    return place + len(end)


def end_of_interpolation(text, start):
    depth, place = 0, start
    while place < len(text):
        if text[place] == '"':
            place = end_of_string(text, place)
            continue
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
        if depth == 0:
            break
    return place


def without_comments(text):
    """Swift without comments, and with empty strings."""
    kept, place = [], 0
    begin = re.compile(r'//[^\n]*|/\*.*?\*/|#*"', re.DOTALL)
    while match := begin.search(text, place):
        kept.append(text[place:match.start()])
        place = match.end()
        if not match.group().startswith("/"):
            kept.append('""')
            place = end_of_string(text, match.start())
    return "".join(kept) + text[place:]


def names_of_cases(text):
    """`a, b(x: Int), c = 3` as names."""
    while re.search(r"\([^()]*\)", text):
        text = re.sub(r"\([^()]*\)", "", text)
    return re.findall(r"(?:^|,)\s*(\w+)", text)


def is_public(text, place):
    """Whether the modifiers before a declaration say so."""
    line = re.split(r"[\n{};]", text[:place])[-1]
    return bool(re.search(r"\b(?:public|open)\b(?!\()", line))


def declared(text):
    """Names with the types around them, such as `Outer.Inner.member`, that a file makes public."""
    text = without_comments(text).replace("`", "")
    found, scopes, pending = set(), [], None
    for match in DECLARATION.finditer(text):
        if match["brace"] == "{":
            scopes.append(pending)
            pending = None
        elif match["brace"] == "}":
            scopes.pop()
        elif None not in scopes:
            kind, path, around = scopes[-1] if scopes else ("module", "", False)
            public = is_public(text, match.start()) or (kind == "protocol" and around)
            if match["type"]:
                word = match["type"].split()[0]
                pending = (word, f"{path}{match['name']}.", public)
                if word == "extension":
                    continue
            elif match["cases"]:
                public = kind == "enum" and around
            elif kind == "extension" and around:
                public = True
            if not public:
                continue
            if match["cases"]:
                names = names_of_cases(match["cases"])
            else:
                whole = match["name"] or match["values"] or match["member"] or match["init"]
                names = re.findall(r"\w+", whole)
            found |= {path + name for name in names}
    assert not scopes, "braces are not balanced"
    return found


def exported(module):
    """A module, and what it brings along."""
    files = sorted(folder(module).rglob("*.swift"))
    brought = {name for file in files
               for name in re.findall(r"@_exported public import (\w+)", file.read_text())}
    return {module}.union(*(exported(name) for name in brought))


def folder(module):
    return next(path for path in (ROOT / "Sources" / module, ROOT / "Plugins" / module) if path.is_dir())


def public_names(module):
    """All that `import module` makes known. A name counts only if all types around it are public."""
    names = set()
    for name in exported(module):
        for file in folder(name).rglob("*.swift"):
            names |= declared(file.read_text())
    def is_known(name):
        outer = name.rpartition(".")[0]
        return not outer or (outer in names and is_known(outer))
    return {name for name in names if is_known(name)}
