"""Which tests run: a pytest plug-in of the judges and of the lab.

Without an option all do.

--choose       The core (core.txt), and of the other tests a third that the commit chooses; of those that are
               marked `costly`, a twelfth. The choice depends on the commit alone, not on the order of tests.
               SPROCKET_CHOICE=1a2b3c4d repeats the choice of another commit.
--choose-list  Prints the tests that --choose does not take at each commit, and runs none.
--resume FILE  Leaves out what has passed before with the same program and the same files, and adds to FILE
               what passes now: a run that was ended goes on.
"""
import collections
import hashlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent
CORE = TESTS / "core.txt"
SHARE, COSTLY_SHARE = 3, 12  # One test of so many.
# A core's line: the test, one of its cases, and why it is in the core.
ENTRY = re.compile(r"  (test_\w+)(\[.*\])?: (.+)")


def pytest_addoption(parser):
    group = parser.getgroup("selection", "which tests run")
    group.addoption("--choose", action="store_true", help="the core, and a third of the rest")
    group.addoption("--choose-list", action="store_true", help="print what --choose does not always take")
    group.addoption("--resume", metavar="FILE", type=pathlib.Path,
                    help="leave out what passed before, by FILE, and add what passes")


def pytest_configure(config):
    # As programs begin; nohup, and a shell's background, have them ignored, and children inherit that.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    config.addinivalue_line("markers", "costly: takes many seconds; --choose takes one of twelve")


class Core:
    """The tests of core.txt: {file: {test: cases}}, where the case `None` is the test's first one."""

    def __init__(self, path=CORE):
        self.files, tests = {}, None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            entry = ENTRY.fullmatch(line)
            if entry is None and not line.startswith(" "):
                tests = self.files.setdefault(line, collections.defaultdict(set))
            elif entry and tests is not None:
                tests[entry[1]].add(entry[2] and entry[2][1:-1])
            else:
                raise pytest.UsageError(f"{path.name}:{number}: no file, and no '  test_name[case]: reason'")

    def stale(self, items):
        """Entries that name no test, among files of which all tests are collected."""
        found = collections.defaultdict(set)
        for item in items:
            found[file_of(item), name_of(item)].add(case_of(item))
        files = {file for file, _ in found}
        for file, tests in self.files.items():
            if not (TESTS / file).exists():
                yield file
            for name, cases in tests.items() if file in files else ():
                there = found[file, name]
                # Without the test data some tests have no cases.
                if not there or not any("NOTSET" in str(case) for case in there) and cases - there - {None}:
                    yield from sorted(f"{file}::{name}" + (f"[{case}]" if case else "")
                                      for case in cases if not there or case and case not in there)

    def has(self, item, is_first):
        cases = self.files.get(file_of(item), {}).get(name_of(item), ())
        return case_of(item) in cases or is_first and None in cases


def file_of(item):
    return item.path.relative_to(TESTS).as_posix()


def name_of(item):
    return getattr(item, "originalname", None) or item.name


def case_of(item):
    return item.callspec.id if hasattr(item, "callspec") else None


def key_of(item):
    """The node's name, whatever folder pytest was started in."""
    return f"{file_of(item)}::{item.name}"


def share_of(item):
    return COSTLY_SHARE if item.get_closest_marker("costly") else SHARE


def git(*arguments):
    # In the lab the tree is another user's.
    result = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, *arguments], capture_output=True)
    return result.stdout.decode().strip() if result.returncode == 0 else ""


def choice():
    """What chooses: a commit's first eight digits, or any other word."""
    return os.environ.get("SPROCKET_CHOICE") or git("rev-parse", "HEAD")[:8] or "nocommit"


def is_chosen(word, key, share):
    return int.from_bytes(hashlib.sha256(f"{word} {key}".encode()).digest()[:8]) % share == 0


# The first to look and the last to choose: a first case is so in each run, and what -k and -m leave out
# does not count.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    core = Core()
    if not any("::" in argument for argument in config.args):
        stale = list(core.stale(items))
        if stale:
            raise pytest.UsageError(f"{CORE.name} names what does not exist: " + ", ".join(stale))
    firsts = {}
    for item in items:
        firsts.setdefault((file_of(item), name_of(item)), item)
    always = {item for item in items if core.has(item, item is firsts[file_of(item), name_of(item)])}
    yield
    always &= set(items)
    if config.option.choose_list:
        print_rest(items, always)
        items.clear()
    elif config.option.choose:
        choose(config, items, always)
    if config.option.resume:
        resume(config, items)


def choose(config, items, always):
    word = choice()
    taken, rest, told = set(always), collections.Counter(), collections.Counter()
    for item in items:
        if item not in always:
            rest[share_of(item)] += 1
            if is_chosen(word, key_of(item), share_of(item)):
                taken.add(item)
                told[share_of(item)] += 1
    line = (f"chosen by commit {word}: core {len(always)}, of the rest {told[SHARE]:,} of {rest[SHARE]:,}"
            + (f", of the costly {told[COSTLY_SHARE]} of {rest[COSTLY_SHARE]}" if rest[COSTLY_SHARE] else "")
            + f"; SPROCKET_CHOICE={word} repeats it")
    config.stash.setdefault(LINES, []).append(line)
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    items[:] = [item for item in items if item in taken]


def print_rest(items, always):
    """The tests that --choose takes at some commits alone, each with the number of its cases."""
    rest, totals = collections.Counter(), collections.Counter()
    for item in items:
        test = f"{file_of(item)}::{name_of(item)}", share_of(item)
        totals[test] += 1
        rest[test] += item not in always
    print(f"{sum(rest.values()):,} of {len(items):,} tests are not in the core. None is known to have found "
          f"a defect:\na test that finds one is put into {CORE.name}. Their cases, and how often they run:")
    for (test, share), count in rest.items():
        if count:
            print(f"  {count:4} of {totals[test, share]:<4} 1 time in {share:<3} {test}")


def pytest_sessionfinish(session, exitstatus):
    # That no test is left to run is no error here.
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and (
            session.config.option.choose_list or session.config.stash.get(LINES, [])):
        session.exitstatus = pytest.ExitCode.OK


LINES = pytest.StashKey()
PASSED = pytest.StashKey()


def pytest_report_collectionfinish(config):
    return config.stash.get(LINES, [])


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        for line in config.stash.get(LINES, []):
            terminalreporter.write_line(line)


class Passed:
    """What passed, and with which program and files: lines of a test's name and a digest."""

    def __init__(self, path):
        self.path, self.digest = path, digest_of_what_tests_see()
        path.parent.mkdir(parents=True, exist_ok=True)
        # The last line of a run that was ended may be torn.
        self.before = set(path.read_text().split("\n")[:-1]) if path.exists() else set()

    def line(self, item):
        return f"{key_of(item)}\t{self.digest}"

    def add(self, line):
        with open(self.path, "a") as file:
            file.write(line + "\n")


def digest_of_what_tests_see():
    """The program, and every file of the tree: tests read each other's, and compile against its modules."""
    digest = hashlib.sha256(subprocess.run([TESTS / "step", "--key"], capture_output=True, check=True).stdout)
    program = os.environ.get("SPROCKET", "")
    if os.path.isfile(program):
        with open(program, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def resume(config, items):
    passed = config.stash[PASSED] = Passed(config.option.resume)
    again = [item for item in items if passed.line(item) in passed.before]
    left = set(again)
    config.stash.setdefault(LINES, []).append(
        f"{len(again):,} of {len(items):,} tests have passed before with this program, by {passed.path}")
    config.hook.pytest_deselected(items=again)
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    passed = item.config.stash.get(PASSED, None)
    if passed:
        # Skipped tests run again, since what they miss may be there then.
        if report.when == "setup":
            item.stash[PASSED] = True
        item.stash[PASSED] = item.stash[PASSED] and report.passed
        if report.when == "teardown" and item.stash[PASSED]:
            passed.add(passed.line(item))
    return report
