// The workloads on Java's ForkJoinPool (first argument `pool`), and serially as
// the baseline of the same language (`serial`). The same problems as in the Rust
// crate `workloads`, with the same checksums.

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountedCompleter;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;

@SuppressWarnings("serial") // tasks are never serialised
public final class Workloads {
    private Workloads() {}

    public static void main(String[] words) {
        try {
            serve(words);
        } catch (IllegalArgumentException | IOException error) {
            System.err.println("error: " + error.getMessage());
            System.exit(1);
        }
    }

    private static void serve(String[] words) throws IOException {
        if (words.length < 2) {
            throw new IllegalArgumentException(
                "no workload given; expected: serial|pool WORKLOAD workers=N key=number ..");
        }
        if (words[1].equals("version")) {
            System.out.println(System.getProperty("java.version"));
            return;
        }
        Request request = new Request(words);
        int workers = (int) request.size("workers");
        // The library's sort asks the common pool how far to split.
        System.setProperty("java.util.concurrent.ForkJoinPool.common.parallelism", "" + workers);
        Peer peer = words[0].equals("serial") ? new Serial() : new Pool(workers);
        switch (request.workload) {
            case "fib" -> fib(peer, request);
            case "tree" -> tree(peer, request, 1);
            case "tree_small" -> tree(peer, request, request.size("walks"));
            case "nqueens_join" -> nqueens(peer, request, false);
            case "nqueens_spawn" -> nqueens(peer, request, true);
            case "uts" -> uts(peer, request);
            case "loop_uniform", "loop_linear", "loop_cluster_low", "loop_cluster_high" ->
                loop(peer, request);
            case "region_empty" -> regionEmpty(peer, request);
            case "region_loop" -> regionLoop(peer, request);
            case "leaves" -> leaves(peer, request);
            case "idle" -> idle(peer, request);
            case "job" -> job(peer, request);
            case "spawn_inside" -> spawns(peer, request, true);
            case "spawn_outside" -> spawns(peer, request, false);
            case "sort_unstable_u64" -> sort(peer, request);
            default -> throw new IllegalArgumentException(
                "this peer has no workload `" + request.workload + "`");
        }
        // The process ends here, whatever its idle workers do.
        System.exit(0);
    }

    // ---- protocol ----

    private static final class Sample {
        long ns;
        long units;
        long checksum;
        final Map<String, Double> extra = new TreeMap<>();
    }

    private static final class Request {
        final String workload;
        private final Map<String, Long> sizes = new HashMap<>();

        Request(String[] words) {
            workload = words[1];
            for (String word : Arrays.asList(words).subList(2, words.length)) {
                int equals = word.indexOf('=');
                try {
                    sizes.put(word.substring(0, equals), Long.parseUnsignedLong(word.substring(equals + 1)));
                } catch (IndexOutOfBoundsException | NumberFormatException error) {
                    throw new IllegalArgumentException("cannot read the argument `" + word
                        + "`; expected key=number with an unsigned number");
                }
            }
        }

        long size(String name) {
            Long number = sizes.get(name);
            if (number == null) {
                throw new IllegalArgumentException(
                    "the workload `" + workload + "` needs `" + name + "=number`");
            }
            return number;
        }

        // Up to `samples` samples within `budget_ms`. Before that, the just-in-time
        // compiler gets as much time as the samples do, and three runs at least.
        void repeat(Supplier<Sample> run) {
            long samples = size("samples");
            long budget = size("budget_ms") * 1_000_000;
            long started = System.nanoTime();
            long last = 0;
            for (int warm = 0; last < budget && (warm < 3 || System.nanoTime() - started < budget); ++warm) {
                long before = System.nanoTime();
                Sample sample = run.get();
                last = System.nanoTime() - before;
                if (last >= budget) {
                    // One run is too long for a warm-up of its own.
                    emit(sample);
                    return;
                }
            }
            started = System.nanoTime();
            long taken = 0;
            while (taken == 0 || (taken < samples && System.nanoTime() - started < budget)) {
                emit(run.get());
                ++taken;
            }
        }

        private static void emit(Sample sample) {
            StringBuilder line = new StringBuilder();
            line.append("{\"ns\":").append(sample.ns).append(",\"units\":").append(sample.units);
            line.append(",\"checksum\":\"").append(Long.toUnsignedString(sample.checksum));
            line.append("\",\"extra\":{");
            String comma = "";
            for (Map.Entry<String, Double> figure : sample.extra.entrySet()) {
                line.append(comma).append('"').append(figure.getKey()).append("\":").append(figure.getValue());
                comma = ",";
            }
            System.out.println(line.append("}}"));
        }
    }

    // ---- clocks ----

    private static long cpuNs() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime();
    }

    private static long timed(Runnable work) {
        long started = System.nanoTime();
        work.run();
        return System.nanoTime() - started;
    }

    /** Busy, so that only the others go to sleep. */
    private static void waitUs(long pause) {
        for (long started = System.nanoTime(); System.nanoTime() - started < pause * 1000;) {
            Thread.onSpinWait();
        }
    }

    private static Sample sample(long units, LongSupplier work) {
        Sample sample = new Sample();
        sample.units = units;
        long cpuBefore = cpuNs();
        sample.ns = timed(() -> sample.checksum = work.getAsLong());
        sample.extra.put("cpu_ns", (double) (cpuNs() - cpuBefore));
        return sample;
    }

    private static double percentileUs(long[] sorted, int percent) {
        return sorted[(sorted.length - 1) * percent / 100] / 1e3;
    }

    // ---- kernels ----

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private static long mix(long state) {
        long a = (state ^ (state >>> 30)) * 0xBF58476D1CE4E5B9L;
        long b = (a ^ (a >>> 27)) * 0x94D049BB133111EBL;
        return b ^ (b >>> 31);
    }

    private static long spin(long seed, long iterations) {
        long state = seed;
        for (long step = 0; step < iterations; ++step) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            state ^= state >>> 29;
        }
        return state;
    }

    // ---- peers ----

    /** What differs between the baseline and the pool. */
    private interface Peer {
        /** Runs a task inside the pool and waits for it. */
        long install(LongSupplier task);

        boolean parallel();

        /** Calls the body for every index, from outside the pool. */
        void forEach(int len, IntConsumer body);

        void sort(long[] data);

        default void pair(IntConsumer task) {
            if (!parallel()) {
                task.accept(0);
                task.accept(1);
                return;
            }
            install(() -> {
                ForkJoinTask.invokeAll(action(() -> task.accept(0)), action(() -> task.accept(1)));
                return 0;
            });
        }
    }

    private static final class Serial implements Peer {
        @Override public long install(LongSupplier task) { return task.getAsLong(); }

        @Override public boolean parallel() { return false; }

        @Override public void forEach(int len, IntConsumer body) {
            for (int index = 0; index < len; ++index) body.accept(index);
        }

        @Override public void sort(long[] data) { Arrays.sort(data); }
    }

    private static final class Pool implements Peer {
        final ForkJoinPool pool;

        Pool(int workers) { pool = new ForkJoinPool(workers); }

        @Override public long install(LongSupplier task) {
            return pool.invoke(new RecursiveTask<Long>() {
                @Override protected Long compute() { return task.getAsLong(); }
            });
        }

        @Override public boolean parallel() { return true; }

        @Override public void forEach(int len, IntConsumer body) {
            install(() -> {
                IntStream.range(0, len).parallel().forEach(body);
                return 0;
            });
        }

        @Override public void sort(long[] data) {
            install(() -> {
                Arrays.parallelSort(data);
                return 0;
            });
        }
    }

    private static RecursiveAction action(Runnable work) {
        return new RecursiveAction() {
            @Override protected void compute() { work.run(); }
        };
    }

    /** A task with a result, forked and joined by its parent. */
    private abstract static class Branch extends RecursiveTask<Long> {
        abstract long run();

        @Override protected Long compute() { return run(); }
    }

    // ---- fib ----

    private static void fib(Peer peer, Request request) {
        long n = request.size("n");
        long now = 0;
        long next = 0;
        for (long step = 0; step < n; ++step) {
            long after = 1 + now + next;
            now = next;
            next = after;
        }
        long joins = now;
        LongSupplier work = peer.parallel() ? () -> new Fib(n).run() : () -> fib(n);
        request.repeat(() -> sample(joins, () -> peer.install(work)));
    }

    private static long fib(long n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    private static final class Fib extends Branch {
        final long n;

        Fib(long n) { this.n = n; }

        @Override long run() {
            if (n < 2) return n;
            Fib other = new Fib(n - 2);
            other.fork();
            long mine = new Fib(n - 1).run();
            return mine + other.join();
        }
    }

    // ---- trees ----

    private static final class Node {
        long value;
        Node left;
        Node right;
    }

    private static long numbered;

    private static Node build(long levels) {
        if (levels == 0) return null;
        Node node = new Node();
        node.value = ++numbered;
        node.left = build(levels - 1);
        node.right = build(levels - 1);
        return node;
    }

    private static void tree(Peer peer, Request request, long walks) {
        long levels = request.size("levels");
        Node root = build(levels);
        boolean parallel = peer.parallel();
        request.repeat(() -> sample(((1L << levels) - 1) * walks, () -> peer.install(() -> {
            long total = 0;
            for (long walk = 0; walk < walks; ++walk) {
                total += parallel ? new Sum(root).run() : sum(root);
            }
            return total;
        })));
    }

    private static long sum(Node node) {
        return node == null ? 0 : node.value + sum(node.left) + sum(node.right);
    }

    private static final class Sum extends Branch {
        final Node node;

        Sum(Node node) { this.node = node; }

        @Override long run() {
            if (node == null) return 0;
            Sum other = new Sum(node.right);
            other.fork();
            long mine = new Sum(node.left).run();
            return node.value + mine + other.join();
        }
    }

    // ---- nqueens ----

    private static final class Board {
        final byte[] columns;
        final int placed;

        Board(byte[] columns, int placed) {
            this.columns = columns;
            this.placed = placed;
        }

        boolean isFull() { return placed == columns.length; }

        boolean isFree(int column) {
            for (int row = 0; row < placed; ++row) {
                int distance = placed - row;
                int other = columns[row];
                if (other == column || other + distance == column || column + distance == other) return false;
            }
            return true;
        }

        Board with(int column) {
            byte[] next = columns.clone();
            next[placed] = (byte) column;
            return new Board(next, placed + 1);
        }

        int freeColumns(byte[] free) {
            int count = 0;
            for (int column = 0; column < columns.length; ++column) {
                if (isFree(column)) free[count++] = (byte) column;
            }
            return count;
        }

        long placements() {
            if (isFull()) return 0;
            byte[] free = new byte[columns.length];
            int count = freeColumns(free);
            long total = 0;
            for (int at = 0; at < count; ++at) total += 1 + with(free[at]).placements();
            return total;
        }
    }

    private static void nqueens(Peer peer, Request request, boolean spawning) {
        Board board = new Board(new byte[(int) request.size("queens")], 0);
        long placements = board.placements();
        AtomicLong solutions = new AtomicLong();
        LongSupplier work;
        if (!peer.parallel()) {
            work = () -> row(board);
        } else if (spawning) {
            ForkJoinPool pool = ((Pool) peer).pool;
            work = () -> {
                pool.invoke(new Row(null, board, solutions));
                return solutions.getAndSet(0);
            };
        } else {
            work = () -> peer.install(() -> joinedRow(board));
        }
        request.repeat(() -> sample(placements, work));
    }

    private static long row(Board board) {
        if (board.isFull()) return 1;
        byte[] free = new byte[board.columns.length];
        int count = board.freeColumns(free);
        long total = 0;
        for (int at = 0; at < count; ++at) total += row(board.with(free[at]));
        return total;
    }

    private static long joinedRow(Board board) {
        if (board.isFull()) return 1;
        byte[] free = new byte[board.columns.length];
        return new Over(board, free, 0, board.freeColumns(free)).run();
    }

    private static final class Over extends Branch {
        final Board board;
        final byte[] free;
        final int low;
        final int high;

        Over(Board board, byte[] free, int low, int high) {
            this.board = board;
            this.free = free;
            this.low = low;
            this.high = high;
        }

        @Override long run() {
            if (low == high) return 0;
            if (high - low == 1) return joinedRow(board.with(free[low]));
            int middle = low + (high - low) / 2;
            Over other = new Over(board, free, middle, high);
            other.fork();
            long mine = new Over(board, free, low, middle).run();
            return mine + other.join();
        }
    }

    /** One placement; done when all that it spawned is. */
    private static final class Row extends CountedCompleter<Void> {
        final Board board;
        final AtomicLong solutions;

        Row(Row parent, Board board, AtomicLong solutions) {
            super(parent);
            this.board = board;
            this.solutions = solutions;
        }

        @Override public void compute() {
            if (board.isFull()) {
                solutions.getAndIncrement();
            } else {
                byte[] free = new byte[board.columns.length];
                int count = board.freeColumns(free);
                addToPendingCount(count);
                for (int at = 0; at < count; ++at) new Row(this, board.with(free[at]), solutions).fork();
            }
            tryComplete();
        }
    }

    // ---- uts ----

    private static final long BRANCHES = 4;

    private static void uts(Peer peer, Request request) {
        long roots = request.size("roots");
        long root = mix(request.size("seed"));
        long odds = request.size("odds");
        LongSupplier work = peer.parallel()
            ? () -> 1 + new Children(odds, root, 0, roots).run()
            : () -> 1 + children(odds, root, 0, roots);
        long units = peer.install(work);
        request.repeat(() -> sample(units, () -> peer.install(work)));
    }

    private static long children(long odds, long parent, long low, long high) {
        if (high - low == 1) {
            long state = mix(parent + (low + 1) * GOLDEN);
            return state >>> 32 < odds ? 1 + children(odds, state, 0, BRANCHES) : 1;
        }
        long middle = low + (high - low) / 2;
        return children(odds, parent, low, middle) + children(odds, parent, middle, high);
    }

    private static final class Children extends Branch {
        final long odds;
        final long parent;
        final long low;
        final long high;

        Children(long odds, long parent, long low, long high) {
            this.odds = odds;
            this.parent = parent;
            this.low = low;
            this.high = high;
        }

        @Override long run() {
            if (high - low == 1) {
                long state = mix(parent + (low + 1) * GOLDEN);
                return state >>> 32 < odds ? 1 + new Children(odds, state, 0, BRANCHES).run() : 1;
            }
            long middle = low + (high - low) / 2;
            Children other = new Children(odds, parent, middle, high);
            other.fork();
            long mine = new Children(odds, parent, low, middle).run();
            return mine + other.join();
        }
    }

    // ---- loops ----

    private static void loop(Peer peer, Request request) {
        int len = (int) request.size("len");
        long cheap = request.size("spins");
        AtomicIntegerArray results = new AtomicIntegerArray(len);
        IntConsumer body = switch (request.workload) {
            case "loop_uniform" -> item -> work(results, item, cheap);
            case "loop_linear" -> item -> work(results, item, 2 * cheap * item / len);
            case "loop_cluster_low" -> {
                long dear = request.size("dear_spins");
                yield item -> work(results, item, item < len / 8 ? dear : cheap);
            }
            default -> {
                long dear = request.size("dear_spins");
                yield item -> work(results, item, item >= len - len / 8 ? dear : cheap);
            }
        };
        request.repeat(() -> {
            Sample taken = sample(len, () -> {
                peer.forEach(len, body);
                return 0;
            });
            taken.checksum = takeSum(results);
            return taken;
        });
    }

    // Opaque, which is what Rust and C++ call relaxed: not merged or vectorised.
    private static void work(AtomicIntegerArray results, int item, long spins) {
        results.setOpaque(item, (int) spin(item, spins));
    }

    private static long takeSum(AtomicIntegerArray results) {
        long sum = 0;
        for (int item = 0; item < results.length(); ++item) {
            sum += Integer.toUnsignedLong(results.getAndSet(item, 0));
        }
        return sum;
    }

    // ---- regions ----

    private static void regions(Request request, Runnable region, LongSupplier checksum) {
        int regions = (int) request.size("regions");
        long pause = request.size("pause_us");
        long[] times = new long[regions];
        request.repeat(() -> {
            for (int at = 0; at < regions; ++at) {
                waitUs(pause);
                times[at] = timed(region);
            }
            Sample taken = new Sample();
            taken.ns = Arrays.stream(times).sum();
            taken.units = regions;
            taken.checksum = checksum.getAsLong();
            Arrays.sort(times);
            taken.extra.put("p50_us", percentileUs(times, 50));
            taken.extra.put("p99_us", percentileUs(times, 99));
            return taken;
        });
    }

    private static void regionEmpty(Peer peer, Request request) {
        // Empty tasks leave no trace, so that the peer runs both is checked beforehand.
        AtomicLong ran = new AtomicLong();
        peer.pair(task -> ran.addAndGet(task + 1));
        regions(request, () -> peer.pair(task -> {}), ran::get);
    }

    private static void regionLoop(Peer peer, Request request) {
        int len = (int) request.size("len");
        AtomicIntegerArray results = new AtomicIntegerArray(len);
        IntConsumer body = item -> work(results, item, 1);
        regions(request, () -> peer.forEach(len, body), () -> takeSum(results));
    }

    // ---- pairs ----

    private static void leaves(Peer peer, Request request) {
        long spins = request.size("spins");
        long idle = request.size("idle_us");
        long[] results = new long[2];
        LongConsumer both = each -> {
            if (peer.parallel()) {
                ForkJoinTask.invokeAll(
                    action(() -> results[0] = spin(0, each)),
                    action(() -> results[1] = spin(1, each)));
            } else {
                results[0] = spin(0, each);
                results[1] = spin(1, each);
            }
        };
        request.repeat(() -> {
            Sample taken = new Sample();
            taken.units = 2;
            peer.install(() -> {
                long[] alone = new long[1];
                long aloneNs = timed(() -> alone[0] = spin(0, spins));
                // Short leaves wake everybody up, and without a pause they stay awake.
                for (int at = 0; at < 10; ++at) both.accept(spins / 200);
                waitUs(idle);
                taken.ns = timed(() -> both.accept(spins));
                taken.checksum = alone[0] + results[0] + results[1];
                taken.extra.put("leaves", (double) taken.ns / aloneNs);
                return 0;
            });
            return taken;
        });
    }

    private static void idle(Peer peer, Request request) {
        long idleMs = request.size("idle_ms");
        request.repeat(() -> {
            AtomicLong sum = new AtomicLong();
            peer.pair(task -> sum.addAndGet(spin(task, 1000)));
            Sample taken = new Sample();
            long cpuBefore = cpuNs();
            taken.ns = timed(() -> LockSupport.parkNanos(idleMs * 1_000_000));
            taken.extra.put("cpu_s", (cpuNs() - cpuBefore) / 1e9);
            taken.units = 1;
            taken.checksum = sum.get();
            return taken;
        });
    }

    private static void job(Peer peer, Request request) {
        int jobs = (int) request.size("jobs");
        long spins = request.size("spins");
        long period = request.size("period_us") * 1000;
        request.repeat(() -> {
            AtomicLong sum = new AtomicLong();
            IntConsumer half = which -> sum.addAndGet(spin(which, spins));
            long[] times = new long[jobs];
            long cpuBefore = cpuNs();
            long next = System.nanoTime();
            for (int at = 0; at < jobs; ++at) {
                next += period;
                LockSupport.parkNanos(next - System.nanoTime());
                times[at] = timed(() -> peer.pair(half));
            }
            Sample taken = new Sample();
            taken.extra.put("cpu_us", (cpuNs() - cpuBefore) / 1e3 / jobs);
            taken.ns = Arrays.stream(times).sum();
            taken.units = jobs;
            taken.checksum = sum.get();
            Arrays.sort(times);
            taken.extra.put("job_p50_us", percentileUs(times, 50));
            taken.extra.put("job_p99_us", percentileUs(times, 99));
            return taken;
        });
    }

    // ---- spawns ----

    private static void spawns(Peer peer, Request request, boolean inside) throws IOException {
        if (!peer.parallel()) {
            throw new IllegalArgumentException("this peer has no workload `" + request.workload + "`");
        }
        ForkJoinPool pool = ((Pool) peer).pool;
        int tasks = (int) request.size("tasks");
        long beforeKb = peakRssKb();
        // Empty tasks leave no trace, so that the peer runs all is checked beforehand.
        AtomicLong ran = new AtomicLong();
        wave(pool, inside, tasks / 100, ran::getAndIncrement);
        request.repeat(() -> {
            Sample taken = new Sample();
            long[] callNs = new long[1];
            taken.ns = timed(() -> callNs[0] = wave(pool, inside, tasks, () -> {}));
            taken.units = tasks;
            taken.checksum = ran.get();
            taken.extra.put("call_ns", (double) callNs[0] / tasks);
            try {
                taken.extra.put("task_bytes", (peakRssKb() - beforeKb) * 1024.0 / tasks);
            } catch (IOException error) {
                throw new IllegalArgumentException(error.getMessage());
            }
            return taken;
        });
    }

    /** Spawns the tasks, waits for all, and returns how long the calls took. */
    private static long wave(ForkJoinPool pool, boolean inside, int tasks, Runnable body) {
        Wave wave = new Wave(tasks, body);
        if (inside) {
            pool.invoke(wave);
        } else {
            wave.addToPendingCount(tasks);
            wave.callNs = timed(() -> {
                for (int task = 0; task < tasks; ++task) pool.execute(new Leaf(wave, body));
            });
            wave.tryComplete();
            wave.join();
        }
        return wave.callNs;
    }

    /** Spawns its tasks when it is run, and is done when they are. */
    private static final class Wave extends CountedCompleter<Void> {
        final int tasks;
        final Runnable body;
        long callNs;

        Wave(int tasks, Runnable body) {
            this.tasks = tasks;
            this.body = body;
        }

        @Override public void compute() {
            addToPendingCount(tasks);
            callNs = timed(() -> {
                for (int task = 0; task < tasks; ++task) new Leaf(this, body).fork();
            });
            tryComplete();
        }
    }

    private static final class Leaf extends CountedCompleter<Void> {
        final Runnable body;

        Leaf(Wave wave, Runnable body) {
            super(wave);
            this.body = body;
        }

        @Override public void compute() {
            body.run();
            tryComplete();
        }
    }

    private static long peakRssKb() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException("/proc/self/status has no line `VmHWM: N kB`");
    }

    // ---- sort ----

    private static void sort(Peer peer, Request request) {
        int len = (int) request.size("len");
        request.repeat(() -> {
            // Java has no unsigned order: turning the highest bit makes it the signed one.
            long[] data = new long[len];
            for (int at = 0; at < len; ++at) data[at] = mix((at + 1) * GOLDEN) ^ Long.MIN_VALUE;
            Sample taken = sample(1, () -> {
                peer.sort(data);
                return 0;
            });
            for (long number : data) taken.checksum = taken.checksum * 31 + (number ^ Long.MIN_VALUE);
            return taken;
        });
    }
}
