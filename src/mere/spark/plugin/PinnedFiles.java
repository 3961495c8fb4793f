package mere.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.function.Function;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A list of Parquet files that is known beforehand: Spark neither lists folders nor asks for sizes.
 * Compiled on the driver by the compiler that Spark brings along; executors never see this class.
 */
public class PinnedFiles implements FileIndex {
  private static final long BLOCK = 134217728L;
  private final Path root;
  private final FileStatus[] files;
  private final long[] starts;
  private final StructType constants;
  private final long bytes;
  private final Function narrow;
  private volatile Object[] last = new Object[] {null, null};

  /**
   * `list` holds path, size and start of each file in turn, parted by NUL, which no path contains.
   * `narrow` takes filters and tells the places of the files that can match; null: nobody knows.
   * `start` names the column that tells the start of each row's file; null: there is none.
   */
  public PinnedFiles(String root, String list, Function narrow, String start) {
    this.root = new Path(root);
    this.narrow = narrow;
    this.constants =
        start == null ? new StructType() : new StructType().add(start, DataTypes.LongType, false);
    String[] parts = list.isEmpty() ? new String[0] : list.split("\0");
    this.files = new FileStatus[parts.length / 3];
    this.starts = new long[files.length];
    long sum = 0L;
    for (int i = 0; i < files.length; i++) {
      long size = Long.parseLong(parts[3 * i + 1]);
      files[i] = new FileStatus(size, false, 1, BLOCK, 0L, new Path(parts[3 * i]));
      starts[i] = Long.parseLong(parts[3 * i + 2]);
      sum += size;
    }
    this.bytes = sum;
  }

  /** Return a Dataset over the files; all that Python has to call. */
  public static Object open(
      Object session,
      String root,
      String list,
      String schema,
      scala.collection.immutable.Map options,
      Function narrow,
      String start) {
    SparkSession spark = (SparkSession) session;
    PinnedFiles pinned = new PinnedFiles(root, list, narrow, start);
    HadoopFsRelation relation =
        new HadoopFsRelation(
            pinned,
            pinned.partitionSchema(),
            (StructType) DataType.fromJson(schema),
            scala.Option.empty(),
            new ParquetFileFormat(),
            options,
            spark);
    return spark.baseRelationToDataFrame(relation);
  }

  public scala.collection.immutable.Seq rootPaths() {
    return scala.collection.immutable.Nil$.MODULE$.$colon$colon(root);
  }

  public scala.collection.immutable.Seq listFiles(
      scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
    int[] places = matching(dataFilters);
    if (constants.isEmpty()) {
      FileStatus[] found = new FileStatus[places.length];
      for (int i = 0; i < places.length; i++) found[i] = files[places[i]];
      return scala.collection.immutable.Nil$.MODULE$.$colon$colon(
          PartitionDirectory.apply(InternalRow.empty(), found));
    }
    scala.collection.immutable.List each = scala.collection.immutable.Nil$.MODULE$;
    for (int i = places.length - 1; i >= 0; i--) {
      InternalRow told = new GenericInternalRow(new Object[] {Long.valueOf(starts[places[i]])});
      FileStatus[] one = new FileStatus[] {files[places[i]]};
      each = each.$colon$colon(PartitionDirectory.apply(told, one));
    }
    return each;
  }

  /** Return the places of files that can hold a row that passes; all when nobody can tell. */
  private int[] matching(scala.collection.immutable.Seq filters) {
    String asked = narrow == null ? null : FilterText.spell(filters);
    if (asked == null) return everyPlace();
    Object[] before = last;
    if (asked.equals(before[0])) return (int[]) before[1];
    String answer = (String) narrow.apply(asked);
    int[] found = new int[0];
    if (answer.equals("*")) {
      found = everyPlace();
    } else if (!answer.isEmpty()) {
      String[] places = answer.split(",");
      found = new int[places.length];
      for (int i = 0; i < places.length; i++) found[i] = Integer.parseInt(places[i]);
    }
    last = new Object[] {asked, found};
    return found;
  }

  private int[] everyPlace() {
    int[] places = new int[files.length];
    for (int i = 0; i < places.length; i++) places[i] = i;
    return places;
  }

  public String[] inputFiles() {
    String[] paths = new String[files.length];
    for (int i = 0; i < files.length; i++) paths[i] = files[i].getPath().toString();
    return paths;
  }

  public void refresh() {}

  public long sizeInBytes() {
    return bytes;
  }

  public StructType partitionSchema() {
    return constants;
  }

  /** Equal lists make equal scans, so Spark can reuse an exchange over them. */
  public boolean equals(Object other) {
    return other instanceof PinnedFiles
        && root.equals(((PinnedFiles) other).root)
        && constants.equals(((PinnedFiles) other).constants)
        && Arrays.equals(starts, ((PinnedFiles) other).starts)
        && Arrays.equals(files, ((PinnedFiles) other).files);
  }

  public int hashCode() {
    return Arrays.hashCode(files);
  }

  public String toString() {
    return "PinnedFiles[" + files.length + " files]";
  }
}

/**
 * Spells filters as JSON, in the internal form of their values: days, microseconds, plain digits. A
 * filter that is not understood whole is left out, which can only keep more files.
 */
class FilterText {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Return the filters as a JSON list, null when none is understood. */
  static String spell(scala.collection.immutable.Seq filters) {
    ArrayNode list = JSON.createArrayNode();
    scala.collection.Iterator each = filters.iterator();
    while (each.hasNext()) {
      ObjectNode found = node((Expression) each.next());
      if (found != null) list.add(found);
    }
    return list.size() == 0 ? null : list.toString();
  }

  private static ObjectNode node(Expression e) {
    if (e instanceof AttributeReference) {
      ObjectNode column = JSON.createObjectNode();
      column.put("column", ((AttributeReference) e).name());
      return column;
    }
    if (e instanceof Literal) return literal(((Literal) e).value(), e);
    if (e instanceof In) return in((In) e);
    if (e instanceof InSet) return inSet((InSet) e);
    String op = name(e);
    return op == null ? null : call(op, e.children());
  }

  private static String name(Expression e) {
    if (e instanceof And) return "and";
    if (e instanceof Or) return "or";
    if (e instanceof Not) return "not";
    if (e instanceof EqualTo) return "eq";
    if (e instanceof EqualNullSafe) return "same";
    if (e instanceof GreaterThan) return "gt";
    if (e instanceof GreaterThanOrEqual) return "ge";
    if (e instanceof LessThan) return "lt";
    if (e instanceof LessThanOrEqual) return "le";
    if (e instanceof IsNull) return "is_null";
    if (e instanceof IsNotNull) return "is_not_null";
    if (e instanceof StartsWith) return "starts_with";
    return null;
  }

  private static ObjectNode call(String op, scala.collection.Seq parts) {
    ObjectNode made = JSON.createObjectNode();
    made.put("op", op);
    ArrayNode args = made.putArray("args");
    scala.collection.Iterator each = parts.iterator();
    while (each.hasNext()) {
      ObjectNode part = node((Expression) each.next());
      if (part == null) return null;
      args.add(part);
    }
    return made;
  }

  private static ObjectNode in(In e) {
    ObjectNode value = node(e.value());
    if (value == null) return null;
    ObjectNode made = JSON.createObjectNode();
    made.put("op", "in");
    ArrayNode args = made.putArray("args");
    args.add(value);
    scala.collection.Iterator each = e.list().iterator();
    while (each.hasNext()) {
      ObjectNode part = node((Expression) each.next());
      if (part == null) return null;
      args.add(part);
    }
    return made;
  }

  private static ObjectNode inSet(InSet e) {
    ObjectNode value = node(e.child());
    if (value == null) return null;
    ObjectNode made = JSON.createObjectNode();
    made.put("op", "in");
    ArrayNode args = made.putArray("args");
    args.add(value);
    scala.collection.Iterator each = e.hset().iterator();
    while (each.hasNext()) {
      ObjectNode part = literal(each.next(), e.child());
      if (part == null) return null;
      args.add(part);
    }
    return made;
  }

  private static ObjectNode literal(Object value, Expression typed) {
    if (value == null || value instanceof byte[]) return null;
    ObjectNode made = JSON.createObjectNode();
    made.put("type", typed.dataType().simpleString());
    made.put("value", value.toString());
    return made;
  }
}
