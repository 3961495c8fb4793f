"""Every example of the guide to folders runs as it is written."""

import pytest
from examples.folders import parquet_crud_examples, repartition_examples

EXAMPLES = (*repartition_examples.EXAMPLES, *parquet_crud_examples.EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__)
def test_every_example_of_the_guide_runs(example, tmp_path):
    example(tmp_path)
