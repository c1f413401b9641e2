// The problems of the benchmark for C++ peers: the same as in the Rust crate
// beside this folder, with the same checksums. A peer defines a class with
// the constructs of its runtime and calls `serve` from `main`:
//
//   explicit Peer(size_t workers);
//   static std::string version();
//   template <class F> void install(F task);               task() in the pool
//   template <class A, class B> static void join(A a, B b);
//   template <class F> void pair(F task);                  task(0), task(1) from outside
//   template <class F> void for_each(size_t len, F body);  body(index) from outside
//   class Scope; static void spawn(Scope&, F task);        task(scope) some time later
//   template <class F> void inside(F task);                task(scope), then waits for all
//   template <class F> bool outside(F task);               the same from outside, or false
//   void sort(uint64_t* begin, uint64_t* end);
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

[[noreturn]] inline void fail(const std::string& message) {
    std::fprintf(stderr, "error: %s\n", message.c_str());
    std::exit(1);
}

// ---- clocks ----

inline uint64_t now_ns() {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

inline uint64_t cpu_ns() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

template <class F>
uint64_t timed(F work) {
    uint64_t started = now_ns();
    work();
    return now_ns() - started;
}

// Busy, so that only the others go to sleep.
inline void wait_us(uint64_t pause) {
    for (uint64_t started = now_ns(); pause && now_ns() - started < pause * 1000;) {
    }
}

inline uint64_t peak_rss_kb() {
    std::unique_ptr<FILE, int (*)(FILE*)> status(std::fopen("/proc/self/status", "r"), std::fclose);
    char line[256];
    uint64_t kb;
    while (status && std::fgets(line, sizeof line, status.get())) {
        if (std::sscanf(line, "VmHWM: %" SCNu64, &kb) == 1) return kb;
    }
    fail("/proc/self/status has no line `VmHWM: N kB`");
}

inline double percentile_us(const std::vector<uint64_t>& sorted, size_t percent) {
    return sorted[(sorted.size() - 1) * percent / 100] / 1e3;
}

// ---- protocol ----

struct Sample {
    uint64_t ns = 0;
    uint64_t units = 0;
    uint64_t checksum = 0;
    std::map<std::string, double> extra;
};

class Request {
  public:
    Request(int count, char** words) {
        if (count < 2) fail("no workload given; expected: WORKLOAD workers=N key=number ..");
        workload = words[1];
        for (int word = 2; word < count; ++word) {
            const char* equals = std::strchr(words[word], '=');
            char* end = nullptr;
            uint64_t number = equals ? std::strtoull(equals + 1, &end, 10) : 0;
            if (!equals || end == equals + 1 || *end) {
                fail("cannot read the argument `" + std::string(words[word]) +
                     "`; expected key=number with an unsigned number");
            }
            sizes[std::string(words[word], size_t(equals - words[word]))] = number;
        }
    }

    uint64_t size(const std::string& name) const {
        auto found = sizes.find(name);
        if (found == sizes.end()) fail("the workload `" + workload + "` needs `" + name + "=number`");
        return found->second;
    }

    // Up to `samples` samples within `budget_ms`; the first run is a warm-up,
    // unless it used more than half the budget already.
    template <class F>
    void repeat(F run) const {
        uint64_t samples = size("samples"), budget = size("budget_ms") * 1000000;
        uint64_t started = now_ns(), taken = 0;
        Sample first = run();
        if (now_ns() - started > budget / 2) {
            emit(first);
            taken = 1;
        }
        while (taken == 0 || (taken < samples && now_ns() - started < budget)) {
            emit(run());
            ++taken;
        }
    }

    std::string workload;

  private:
    static void emit(const Sample& sample) {
        std::printf("{\"ns\":%" PRIu64 ",\"units\":%" PRIu64 ",\"checksum\":\"%" PRIu64 "\",\"extra\":{",
                    sample.ns, sample.units, sample.checksum);
        const char* comma = "";
        for (auto& [name, value] : sample.extra) {
            std::printf("%s\"%s\":%.9g", comma, name.c_str(), value);
            comma = ",";
        }
        std::printf("}}\n");
        std::fflush(stdout);
    }

    std::map<std::string, uint64_t> sizes;
};

// A sample of `units` units around `work`, which returns the checksum.
template <class F>
Sample sample(uint64_t units, F work) {
    Sample sample;
    sample.units = units;
    uint64_t cpu_before = cpu_ns();
    sample.ns = timed([&] { sample.checksum = work(); });
    sample.extra["cpu_ns"] = cpu_ns() - cpu_before;
    return sample;
}

// ---- kernels ----

constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15;

inline uint64_t mix(uint64_t state) {
    uint64_t a = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
    uint64_t b = (a ^ (a >> 27)) * 0x94D049BB133111EB;
    return b ^ (b >> 31);
}

inline uint64_t spin(uint64_t seed, uint64_t iterations) {
    uint64_t state = seed;
    asm volatile("" : "+r"(state));  // hides the start, so that nothing is computed beforehand
    for (uint64_t step = 0; step < iterations; ++step) {
        state = state * 6364136223846793005 + 1442695040888963407;
        state ^= state >> 29;
    }
    return state;
}

// ---- fib ----

template <class P>
__attribute__((noinline)) uint64_t fib(uint64_t n) {
    if (n < 2) return n;
    uint64_t a, b;
    P::join([&] { a = fib<P>(n - 1); }, [&] { b = fib<P>(n - 2); });
    return a + b;
}

inline uint64_t joins_of_fib(uint64_t n) {
    uint64_t now = 0, next = 0;
    for (; n > 0; --n) {
        uint64_t after = 1 + now + next;
        now = next;
        next = after;
    }
    return now;
}

template <class P>
void run_fib(P& peer, const Request& request) {
    uint64_t n = request.size("n"), joins = joins_of_fib(n);
    request.repeat([&] {
        return sample(joins, [&] {
            uint64_t result = 0;
            peer.install([&] { result = fib<P>(n); });
            return result;
        });
    });
}

// ---- trees ----

struct Node {
    uint64_t value;
    Node* left;
    Node* right;
};

// Never freed: the process ends after the last sample.
inline Node* build(uint64_t levels, uint64_t& next) {
    if (levels == 0) return nullptr;
    Node* node = new Node{next++, nullptr, nullptr};
    node->left = build(levels - 1, next);
    node->right = build(levels - 1, next);
    return node;
}

template <class P>
__attribute__((noinline)) uint64_t sum(const Node* node) {
    if (!node) return 0;
    uint64_t left, right;
    P::join([&] { left = sum<P>(node->left); }, [&] { right = sum<P>(node->right); });
    return node->value + left + right;
}

template <class P>
void run_tree(P& peer, const Request& request, uint64_t walks) {
    uint64_t levels = request.size("levels"), next = 1;
    Node* root = build(levels, next);
    request.repeat([&] {
        return sample(((uint64_t(1) << levels) - 1) * walks, [&] {
            uint64_t result = 0;
            peer.install([&] {
                for (uint64_t walk = 0; walk < walks; ++walk) result += sum<P>(root);
            });
            return result;
        });
    });
}

// ---- nqueens ----

struct Board {
    std::array<uint8_t, 16> columns{};
    uint8_t placed = 0, size = 0;

    static Board empty(uint64_t size) {
        if (size < 1 || size > 16) {
            fail("cannot place " + std::to_string(size) + " queens; the board takes 1 to 16");
        }
        Board board;
        board.size = uint8_t(size);
        return board;
    }

    bool is_full() const { return placed == size; }

    bool is_free(uint8_t column) const {
        for (uint8_t row = 0; row < placed; ++row) {
            int distance = placed - row, other = columns[row];
            if (other == column || other + distance == column || column + distance == other) return false;
        }
        return true;
    }

    Board with(uint8_t column) const {
        Board board = *this;
        board.columns[board.placed++] = column;
        return board;
    }

    size_t free_columns(std::array<uint8_t, 16>& free) const {
        size_t count = 0;
        for (uint8_t column = 0; column < size; ++column) {
            if (is_free(column)) free[count++] = column;
        }
        return count;
    }

    uint64_t placements() const {
        if (is_full()) return 0;
        std::array<uint8_t, 16> free;
        uint64_t total = 0;
        for (size_t count = free_columns(free), at = 0; at < count; ++at) total += 1 + with(free[at]).placements();
        return total;
    }
};

template <class P>
uint64_t row(const Board& board);

template <class P>
__attribute__((noinline)) uint64_t over(const Board& board, const uint8_t* columns, size_t count) {
    if (count == 0) return 0;
    if (count == 1) return row<P>(board.with(columns[0]));
    size_t half = count / 2;
    uint64_t a, b;
    P::join([&] { a = over<P>(board, columns, half); },
            [&] { b = over<P>(board, columns + half, count - half); });
    return a + b;
}

template <class P>
uint64_t row(const Board& board) {
    if (board.is_full()) return 1;
    std::array<uint8_t, 16> free;
    size_t count = board.free_columns(free);
    return over<P>(board, free.data(), count);
}

template <class P>
void spawn_row(typename P::Scope& scope, const Board& board, std::atomic<uint64_t>* solutions) {
    if (board.is_full()) {
        solutions->fetch_add(1, std::memory_order_relaxed);
        return;
    }
    std::array<uint8_t, 16> free;
    for (size_t count = board.free_columns(free), at = 0; at < count; ++at) {
        Board next = board.with(free[at]);
        P::spawn(scope, [next, solutions](typename P::Scope& scope) { spawn_row<P>(scope, next, solutions); });
    }
}

template <class P>
void run_nqueens_join(P& peer, const Request& request) {
    Board board = Board::empty(request.size("queens"));
    uint64_t placements = board.placements();
    request.repeat([&] {
        return sample(placements, [&] {
            uint64_t result = 0;
            peer.install([&] { result = row<P>(board); });
            return result;
        });
    });
}

template <class P>
void run_nqueens_spawn(P& peer, const Request& request) {
    Board board = Board::empty(request.size("queens"));
    uint64_t placements = board.placements();
    std::atomic<uint64_t> solutions{0};
    request.repeat([&] {
        return sample(placements, [&] {
            peer.inside([&](typename P::Scope& scope) { spawn_row<P>(scope, board, &solutions); });
            return solutions.exchange(0);
        });
    });
}

// ---- uts ----

constexpr uint64_t BRANCHES = 4;

template <class P>
__attribute__((noinline)) uint64_t children(uint64_t odds, uint64_t parent, uint64_t low, uint64_t high) {
    if (high - low == 1) {
        uint64_t state = mix(parent + (low + 1) * GOLDEN);
        return state >> 32 < odds ? 1 + children<P>(odds, state, 0, BRANCHES) : 1;
    }
    uint64_t middle = low + (high - low) / 2, a, b;
    P::join([&] { a = children<P>(odds, parent, low, middle); },
            [&] { b = children<P>(odds, parent, middle, high); });
    return a + b;
}

template <class P>
void run_uts(P& peer, const Request& request) {
    uint64_t roots = request.size("roots"), root = mix(request.size("seed")), odds = request.size("odds");
    auto count = [&] {
        uint64_t result = 0;
        peer.install([&] { result = 1 + children<P>(odds, root, 0, roots); });
        return result;
    };
    uint64_t units = count();
    request.repeat([&] { return sample(units, count); });
}

// ---- stencil ----

// The weights are powers of two, so that multiplying and adding in one step gives the same numbers.
__attribute__((noinline)) inline void relax(const float* __restrict cells, float* __restrict next, size_t len) {
    for (size_t at = 0; at < len; ++at) {
        next[at] = 0.25f * cells[at] + 0.5f * cells[at + 1] + 0.25f * cells[at + 2];
    }
}

template <class P>
void halves(const float* cells, float* next, size_t len) {
    size_t middle = len / 2;
    P::join([=] { relax(cells, next + 1, middle - 1); },
            [=] { relax(cells + middle - 1, next + middle, len - middle - 1); });
}

template <class P>
void run_stencil(P& peer, const Request& request) {
    size_t len = request.size("len");
    uint64_t sweeps = request.size("sweeps");
    std::vector<float> start(len), one, other;
    for (size_t at = 0; at < len; ++at) start[at] = float(mix((at + 1) * GOLDEN) >> 40) / (1 << 24);
    request.repeat([&] {
        one = other = start;
        float *cells = one.data(), *next = other.data();
        Sample taken = sample(sweeps, [&] {
            peer.install([&] {
                for (uint64_t sweep = 0; sweep < sweeps; ++sweep) {
                    halves<P>(cells, next, len);
                    std::swap(cells, next);
                }
            });
            return 0;
        });
        for (size_t at = 0; at < len; ++at) {
            uint32_t bits;
            std::memcpy(&bits, cells + at, sizeof bits);
            taken.checksum = taken.checksum * 31 + bits;
        }
        return taken;
    });
}

// ---- loops ----

struct Items {
    std::vector<std::atomic<uint32_t>> results;

    explicit Items(size_t len) : results(len) {}

    void work(size_t item, uint64_t spins) {
        results[item].store(uint32_t(spin(item, spins)), std::memory_order_relaxed);
    }

    uint64_t take_sum() {
        uint64_t sum = 0;
        for (auto& result : results) sum += result.exchange(0, std::memory_order_relaxed);
        return sum;
    }
};

template <class P, class F>
void run_loop(P& peer, const Request& request, F spins) {
    size_t len = request.size("len");
    Items items(len);
    request.repeat([&] {
        Sample taken = sample(len, [&] {
            peer.for_each(len, [&](size_t item) { items.work(item, spins(item, len)); });
            return 0;
        });
        taken.checksum = items.take_sum();
        return taken;
    });
}

// ---- regions ----

template <class F, class C>
void run_regions(const Request& request, F region, C checksum) {
    size_t regions = request.size("regions");
    uint64_t pause = request.size("pause_us");
    std::vector<uint64_t> times;
    request.repeat([&] {
        times.clear();
        for (size_t at = 0; at < regions; ++at) {
            wait_us(pause);
            times.push_back(timed(region));
        }
        std::sort(times.begin(), times.end());
        Sample taken;
        for (uint64_t time : times) taken.ns += time;
        taken.units = regions;
        taken.checksum = checksum();
        taken.extra["p50_us"] = percentile_us(times, 50);
        taken.extra["p99_us"] = percentile_us(times, 99);
        return taken;
    });
}

template <class P>
void run_region_empty(P& peer, const Request& request) {
    // Empty tasks leave no trace, so that the peer runs both is checked beforehand.
    std::atomic<uint64_t> ran{0};
    peer.pair([&](size_t task) { ran += task + 1; });
    run_regions(request, [&] { peer.pair([](size_t) {}); }, [&] { return ran.load(); });
}

template <class P>
void run_region_loop(P& peer, const Request& request) {
    Items items(request.size("len"));
    run_regions(
        request,
        [&] { peer.for_each(items.results.size(), [&](size_t item) { items.work(item, 1); }); },
        [&] { return items.take_sum(); });
}

// ---- pairs ----

template <class P>
void run_leaves(P& peer, const Request& request) {
    uint64_t spins = request.size("spins"), idle = request.size("idle_us");
    request.repeat([&] {
        Sample taken;
        peer.install([&] {
            uint64_t alone, first, second;
            auto both = [&](uint64_t spins) {
                P::join([&] { first = spin(0, spins); }, [&] { second = spin(1, spins); });
            };
            uint64_t alone_ns = timed([&] { alone = spin(0, spins); });
            // Short leaves wake everybody up, and without a pause they stay awake.
            for (int at = 0; at < 10; ++at) both(spins / 200);
            wait_us(idle);
            taken.ns = timed([&] { both(spins); });
            taken.units = 2;
            taken.checksum = alone + first + second;
            taken.extra["leaves"] = double(taken.ns) / alone_ns;
        });
        return taken;
    });
}

template <class P>
void run_idle(P& peer, const Request& request) {
    std::chrono::milliseconds idle(request.size("idle_ms"));
    request.repeat([&] {
        std::atomic<uint64_t> sum{0};
        peer.pair([&](size_t task) { sum += spin(task, 1000); });
        Sample taken;
        uint64_t cpu_before = cpu_ns();
        taken.ns = timed([&] { std::this_thread::sleep_for(idle); });
        taken.extra["cpu_s"] = (cpu_ns() - cpu_before) / 1e9;
        taken.units = 1;
        taken.checksum = sum;
        return taken;
    });
}

template <class P>
void run_job(P& peer, const Request& request) {
    size_t jobs = request.size("jobs");
    uint64_t spins = request.size("spins");
    std::chrono::microseconds period(request.size("period_us"));
    request.repeat([&] {
        std::atomic<uint64_t> sum{0};
        std::vector<uint64_t> times;
        uint64_t cpu_before = cpu_ns();
        auto next = std::chrono::steady_clock::now();
        for (size_t job = 0; job < jobs; ++job) {
            std::this_thread::sleep_until(next += period);
            times.push_back(timed([&] { peer.pair([&](size_t half) { sum += spin(half, spins); }); }));
        }
        double cpu = cpu_ns() - cpu_before;
        std::sort(times.begin(), times.end());
        Sample taken;
        for (uint64_t time : times) taken.ns += time;
        taken.units = jobs;
        taken.checksum = sum;
        taken.extra["cpu_us"] = cpu / 1e3 / jobs;
        taken.extra["job_p50_us"] = percentile_us(times, 50);
        taken.extra["job_p99_us"] = percentile_us(times, 99);
        return taken;
    });
}

// ---- spawns ----

template <class P, class Wave>
void run_spawns(const Request& request, Wave wave) {
    uint64_t tasks = request.size("tasks"), call_ns = 0, before_kb = peak_rss_kb();
    std::atomic<uint64_t> ran{0};
    // Empty tasks leave no trace, so that the peer runs all is checked beforehand.
    bool can = wave([&](typename P::Scope& scope) {
        for (uint64_t task = 0; task < tasks / 100; ++task) {
            P::spawn(scope, [counter = &ran](typename P::Scope&) { ++*counter; });
        }
    });
    if (!can) fail("this peer cannot wait outside for `" + request.workload + "`");
    request.repeat([&] {
        Sample taken;
        taken.ns = timed([&] {
            wave([&](typename P::Scope& scope) {
                call_ns = timed([&] {
                    for (uint64_t task = 0; task < tasks; ++task) P::spawn(scope, [](typename P::Scope&) {});
                });
            });
        });
        taken.units = tasks;
        taken.checksum = ran;
        taken.extra["call_ns"] = double(call_ns) / tasks;
        taken.extra["task_bytes"] = (peak_rss_kb() - before_kb) * 1024.0 / tasks;
        return taken;
    });
}

// ---- sort ----

template <class P>
void run_sort(P& peer, const Request& request) {
    size_t len = request.size("len");
    request.repeat([&] {
        std::vector<uint64_t> data(len);
        for (size_t at = 0; at < len; ++at) data[at] = mix((at + 1) * GOLDEN);
        Sample taken = sample(1, [&] {
            peer.sort(data.data(), data.data() + len);
            return 0;
        });
        for (uint64_t number : data) taken.checksum = taken.checksum * 31 + number;
        return taken;
    });
}

// ---- once ----

// A value that one of several tasks makes by joins, over the same joins in one of as many
// tasks; for peers that have a place for such a value.
template <class P>
auto run_once(P& peer, const Request& request, int) -> decltype(typename P::Once(), void()) {
    uint64_t n = request.size("n"), losers = request.size("losers");
    bool inside = request.size("inside") == 1;
    auto tasks = [&](auto task) {
        typename P::Once once;
        std::atomic<uint64_t> sum{0};
        auto spawn_all = [&](typename P::Scope& scope) {
            for (uint64_t number = 0; number <= losers; ++number) {
                P::spawn(scope, [task, number, once = &once, sum = &sum](typename P::Scope&) {
                    *sum += task(*once, number);
                });
            }
        };
        if (inside) peer.inside(spawn_all);
        else peer.outside(spawn_all);
        return sum.load();
    };
    request.repeat([&] {
        uint64_t alone_ns = timed([&] {
            tasks([n](typename P::Once&, uint64_t number) { return number == 0 ? fib<P>(n) : 0; });
        });
        Sample taken;
        taken.units = 1;
        taken.ns = timed([&] {
            taken.checksum = tasks([n](typename P::Once& once, uint64_t) {
                return P::get_or_init(once, [n] { return fib<P>(n); });
            });
        });
        taken.extra["over"] = double(taken.ns) / alone_ns;
        return taken;
    });
}

template <class P>
void run_once(P&, const Request&, long) {
    fail("this peer has no value that is made once");
}

// The body of a peer's `main`.
template <class P>
int serve(int count, char** words) {
    Request request(count, words);
    const std::string& workload = request.workload;
    if (workload == "version") {
        std::printf("%s\n", P::version().c_str());
        return 0;
    }
    P peer(request.size("workers"));
    auto spins = [&] { return request.size("spins"); };
    if (workload == "fib") run_fib(peer, request);
    else if (workload == "tree") run_tree(peer, request, 1);
    else if (workload == "tree_small") run_tree(peer, request, request.size("walks"));
    else if (workload == "nqueens_join") run_nqueens_join(peer, request);
    else if (workload == "nqueens_spawn") run_nqueens_spawn(peer, request);
    else if (workload == "uts") run_uts(peer, request);
    else if (workload == "stencil") run_stencil(peer, request);
    else if (workload == "loop_uniform") {
        run_loop(peer, request, [cost = spins()](uint64_t, uint64_t) { return cost; });
    } else if (workload == "loop_linear") {
        run_loop(peer, request, [cost = spins()](uint64_t item, uint64_t len) { return 2 * cost * item / len; });
    } else if (workload == "loop_cluster_low") {
        run_loop(peer, request, [cheap = spins(), dear = request.size("dear_spins")](uint64_t item, uint64_t len) {
            return item < len / 8 ? dear : cheap;
        });
    } else if (workload == "loop_cluster_high") {
        run_loop(peer, request, [cheap = spins(), dear = request.size("dear_spins")](uint64_t item, uint64_t len) {
            return item >= len - len / 8 ? dear : cheap;
        });
    } else if (workload == "region_empty") run_region_empty(peer, request);
    else if (workload == "region_loop") run_region_loop(peer, request);
    else if (workload == "leaves") run_leaves(peer, request);
    else if (workload == "idle") run_idle(peer, request);
    else if (workload == "job") run_job(peer, request);
    else if (workload == "spawn_inside") {
        run_spawns<P>(request, [&](auto task) { return peer.inside(task), true; });
    } else if (workload == "spawn_outside") {
        run_spawns<P>(request, [&](auto task) { return peer.outside(task); });
    } else if (workload == "once") run_once(peer, request, 0);
    else if (workload == "sort_unstable_u64") run_sort(peer, request);
    else fail("this peer has no workload `" + workload + "`");
    return 0;
}

}  // namespace bench
