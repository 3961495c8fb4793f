package mere.spark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.util.collection.BitSet;

/**
 * Leaves out deleted rows by asking a set of bits, one for each row of all files, which goes along
 * with the plan. What executors run are classes of Spark's own.
 */
public class LivingRows {
  /** Numbers are 32 bits each, little end first; a row's is its file's `start` and its `index`. */
  public static Object keep(
      Object session, Object frame, byte[] numbers, int rows, String start, String index) {
    BitSet gone = new BitSet(rows);
    java.nio.IntBuffer each =
        ByteBuffer.wrap(numbers).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
    while (each.hasRemaining()) gone.set(each.get());
    LogicalPlan plan = ((Dataset) frame).logicalPlan();
    Expression number = new Add(present(plan, start), present(plan, index));
    Expression place = new Cast(number, DataTypes.IntegerType, scala.Option.empty());
    Expression dead =
        new Invoke(
            new Literal(gone, new ObjectType(BitSet.class)),
            "get",
            DataTypes.BooleanType,
            scala.collection.immutable.Nil$.MODULE$.$colon$colon(place),
            scala.collection.immutable.Nil$.MODULE$,
            true,
            true,
            true);
    return Dataset$.MODULE$.ofRows((SparkSession) session, new Filter(new Not(dead), plan));
  }

  /** Return the column; a row without it ends the query, since nobody knows whether it lives. */
  private static Expression present(LogicalPlan plan, String name) {
    scala.collection.Iterator each = plan.output().iterator();
    while (each.hasNext()) {
      Attribute found = (Attribute) each.next();
      if (found.name().equals(name))
        return new AssertNotNull(found, scala.collection.immutable.Nil$.MODULE$);
    }
    throw new IllegalArgumentException("no column " + name);
  }
}
