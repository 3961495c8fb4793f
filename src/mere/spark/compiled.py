"""Make the plugin's Java classes loadable in the driver, with the compiler that Spark ships."""

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

PACKAGE = "mere.spark"
JAVA_LEVEL = 8  # the highest level whose interface methods the compiler knows


class CompileFailedError(Exception):
    """This Spark does not take the plugin's classes: go another way."""


def load_class(spark: SparkSession, name: str) -> Any:
    """Return the plugin's Java class `name`, compiled on the first call in this JVM.

    The JVM itself keeps the class, so there is nothing to remember here. Executors never need
    it: plans hold Spark's own classes only.

    Raises:
        CompileFailedError: If this Spark has no compiler, or other classes than we know.
    """
    jvm: Any = spark._jvm  # noqa: SLF001  the only way into the JVM that PySpark has
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    full_name = f"{PACKAGE}.{name}"
    try:
        if loader.getResource(f"{full_name.replace('.', '/')}.class") is None:
            folder = _compile(jvm, loader, name)
            loader.addURL(jvm.java.io.File(folder).toURI().toURL())
        return loader.loadClass(full_name)
    except Py4JError as error:
        msg = f"Spark {spark.version} does not take the class {full_name}"
        raise CompileFailedError(msg) from error


def _compile(jvm: Any, loader: Any, name: str) -> str:
    """Write the class files of one source below a new folder, and return the folder."""
    source = files("mere.spark").joinpath("plugin", f"{name}.java").read_text("utf-8")
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.setSourceVersion(JAVA_LEVEL)
    compiler.setTargetVersion(JAVA_LEVEL)
    compiler.cook(source)
    folder = tempfile.mkdtemp(prefix="mere-classes-")
    for entry in compiler.getBytecodes().entrySet().toArray():
        target = Path(folder, *entry.getKey().split(".")).with_suffix(".class")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(entry.getValue())
    return folder
