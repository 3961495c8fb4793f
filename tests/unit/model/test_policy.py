"""Which rules hold for a table, and which cannot be meant."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mere.errors import InvalidInputError
from mere.model.policy import USUAL, Policy

ROOT = Path(__file__).parents[3]
RULES = st.builds(
    Policy,
    compact=st.none() | st.booleans(),
    target_mb=st.none() | st.floats(1, 1000),
    min_files=st.none() | st.integers(2, 99),
    cluster_by=st.none() | st.just(()) | st.just(("a", "b")),
)
NARROW = ("compact", "target_mb", "min_files", "cluster_by")


@given(lake=RULES, schema=RULES, table=RULES)
def test_the_narrowest_rule_holds_whatever_else_is_said(lake, schema, table):
    policy = Policy(schemas={"s": schema}, tables={"s.t": table}).over(lake)
    for name in NARROW:
        said = [getattr(rules, name) for rules in (table, schema, lake)]
        wanted = next((value for value in said if value is not None), None)
        assert getattr(policy.of_table("s", "t"), name) == wanted
        assert getattr(policy.of_table("other", "t"), name) == getattr(lake, name)


def test_the_example_of_the_manual_is_a_policy():
    page = (ROOT / "docs" / "how-to" / "keep-healthy.md").read_text("utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    policy = Policy.from_toml(text)
    trades = policy.of_table("market", "trades").over(USUAL)
    assert (trades.target_mb, trades.cluster_by) == (256, ("product_id", "ts"))
    assert policy.of_table("archive", "x").compact is False
    assert policy.of_table("main", "x").over(USUAL).compact is True


def test_the_manual_lists_every_rule_with_what_is_usual():
    page = (ROOT / "docs" / "how-to" / "keep-healthy.md").read_text("utf-8")
    rules = [each.name for each in fields(Policy) if each.name not in ("schemas", "tables")]
    missing = [name for name in rules if f"`{name}`" not in page]
    assert not missing


def test_options_are_read_as_rules():
    options = {
        "auto_compact": "false",
        "target_file_size": str(64 << 20),
        "rewrite_delete_threshold": "0.500000",
        "mere_cluster_by": "a,b",
        "expire_older_than": "30 days",
        "parquet_compression": "zstd",
    }
    assert Policy.from_options(options) == Policy(
        compact=False,
        target_mb=64,
        max_deleted=0.5,
        cluster_by=("a", "b"),
        expire_older_than="30 days",
    )
    with pytest.raises(InvalidInputError, match="target_file_size='many'"):
        Policy.from_options({"target_file_size": "many"})


def test_tables_are_named_with_or_without_their_schema():
    policy = Policy.of({"tables": {"t": {"compact": False}}})
    assert policy.of_table("main", "t").compact is False
    assert policy == Policy(tables={"main.t": Policy(compact=False)})
    assert Policy.of({"cluster_by": ["a"]}) == Policy.of({"cluster_by": "a"})


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"clusterby": ["a"]}, "no rule 'clusterby'.*\n.*did you mean 'cluster_by'"),
        ({"target_mb": 0}, "target_mb takes a number above 0"),
        ({"target_mb": "128"}, "target_mb takes a number above 0"),
        ({"min_files": 1}, "min_files takes a whole number from 2 on"),
        ({"max_deleted": 1.5}, "max_deleted takes a share"),
        ({"cluster_by": 3}, "cluster_by takes a list of columns"),
        ({"cluster_order": "random"}, "cluster_order takes one of linear, zorder, hilbert"),
        ({"expire": "no"}, "expire takes true or false"),
        ({"expire_older_than": "soon"}, "a length of time is needed"),
        ({"keep_last": True}, "keep_last takes a whole number"),
        ({"tables": {"t": {"keep_last": 3}}}, "keep_last is a rule of the whole lake"),
        ({"tables": {"t": {"tables": {"u": {}}}}}, "tables is a rule of the whole lake"),
        ({"tables": ["t"]}, "'tables' of a policy is a mapping"),
        ({"schemas": {"s": 3}}, "a policy is a mapping"),
        ({"tables": {"a.b.c": {}}}, "a table name has one or two"),
    ],
)
def test_what_cannot_be_meant_is_named(rules, told):
    with pytest.raises(InvalidInputError, match=f"(?s){told}"):
        Policy.of(rules)


def test_what_is_no_toml_is_told():
    with pytest.raises(InvalidInputError, match="no TOML"):
        Policy.from_toml("target_mb = = 3")
