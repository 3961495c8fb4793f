"""Every module keeps the laws of the house, and each law can see a module that breaks it."""

import pytest
from tests.architecture import laws
from tests.architecture.laws import Module

BROKEN = {
    laws.long_modules: ("mere.lake", "x = 1\n" * 400),
    laws.long_functions: ("mere.lake", "def f():\n" + "    x = 1\n" * 39),
    laws.late_imports: ("mere.lake", "def f():\n    import duckdb\n"),
    laws.spark_elsewhere: ("mere.readers.spark", "from pyspark.sql import DataFrame\n"),
    laws.clock_and_chance: ("mere.plan.pack", "import datetime\nx = datetime.datetime.now()\n"),
    laws.vague_names: ("mere.lake", "class FileInfo:\n    pass\n"),
    laws.loose_values: ("mere.model.files", "@dataclass(frozen=True)\nclass File:\n    pass\n"),
    laws.silenced_without_reason: ("mere.lake", "x = f()  # noqa: S608\n"),
    laws.unfinished: ("mere.lake", "raise NotImplementedError\n"),
}
LAWS = pytest.mark.parametrize("law", BROKEN, ids=lambda law: law.__name__)


@LAWS
def test_the_library_keeps_the_law(law):
    complaints = [complaint for module in laws.modules() for complaint in law(module)]
    assert not complaints, f"{law.__doc__}\n" + "\n".join(complaints)


@LAWS
def test_the_law_sees_a_module_that_breaks_it(law):
    assert list(law(Module.of(*BROKEN[law])))


@pytest.mark.parametrize(
    "name",
    [
        "get_table",
        "_get_table",
        "do_it",
        "make_helper",
        "BaseKernel",
        "HTTPHandler",
        "utils",
        "InfoX",
    ],
)
def test_vague_names_are_seen_in_every_spelling(name):
    assert list(laws.vague_names(Module.of("mere.lake", f"def {name}(): ..."))) or name == "utils"
    assert name != "utils" or list(laws.vague_names(Module.of("mere.utils", "")))


@pytest.mark.parametrize(
    "name", ["information", "based_on", "target_getter", "database", "Implied"]
)
def test_names_that_only_contain_a_vague_word_are_left_alone(name):
    assert not list(laws.vague_names(Module.of("mere.lake", f"def {name}(): ...")))


@pytest.mark.parametrize(
    ("comment", "accepted"),
    [
        ("# noqa", False),
        ("# noqa: S608", False),
        ("# noqa: S608 - names are quoted, values are bound", True),
        ("# noqa: S608, PLC0415 - found by name", True),
        ("# noqa: S608  names are quoted, values are bound", True),
        ("# type: ignore", False),
        ("# type: ignore[arg-type]", False),
        ("# type: ignore[arg-type]  # the stub is wrong: it takes None", True),
    ],
)
def test_a_tool_is_silenced_only_by_rule_and_reason(comment, accepted):
    complaints = list(laws.silenced_without_reason(Module.of("mere.lake", f"x = 1  {comment}")))
    assert (complaints == []) is accepted


def test_the_reason_may_stand_in_a_comment_above():
    text = "# fsspec has no public way\nx = kind._strip(url)  # noqa: SLF001\n"
    assert not list(laws.silenced_without_reason(Module.of("mere.lake", text)))
    bare = text.replace("SLF001", "").replace("noqa: ", "noqa")
    assert list(laws.silenced_without_reason(Module.of("mere.lake", bare)))


def test_a_docstring_does_not_count_as_length():
    text = 'def f():\n    """First line.\n' + "\n    More.\n" * 40 + '    """\n    return 1\n'
    assert not list(laws.long_functions(Module.of("mere.lake", text)))


def test_a_method_that_an_interface_demands_may_keep_its_name():
    text = "class Files(FileSystemHandler):\n    def get_file_info(self): ...\n"
    assert not list(laws.vague_names(Module.of("mere.stores.arrowfs", text)))
    assert list(
        laws.vague_names(Module.of("mere.stores.arrowfs", text.replace("(FileSystemHandler)", "")))
    )
