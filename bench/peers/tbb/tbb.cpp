// The workloads on oneTBB; the calling thread is one of the workers.
#include "../../workloads/cpp/workloads.hpp"

#include <oneapi/tbb.h>

struct Tbb {
    struct Scope {
        tbb::task_group tasks;
        // Where tasks go that are spawned from outside; null inside.
        tbb::task_arena* arena = nullptr;
    };

    explicit Tbb(size_t workers)
        : workers(workers), limit(tbb::global_control::max_allowed_parallelism, workers) {}

    static std::string version() { return TBB_runtime_version(); }

    template <class F>
    void install(F task) { task(); }

    template <class A, class B>
    static void join(A a, B b) { tbb::parallel_invoke(a, b); }

    template <class F>
    void pair(F task) {
        tbb::parallel_invoke([&] { task(0); }, [&] { task(1); });
    }

    template <class F>
    void for_each(size_t len, F body) { tbb::parallel_for(size_t(0), len, body); }

    template <class F>
    static void spawn(Scope& scope, F task) {
        auto run = [&scope, task] { task(scope); };
        if (scope.arena) scope.arena->enqueue(scope.tasks.defer(run));
        else scope.tasks.run(run);
    }

    template <class F>
    void inside(F task) {
        Scope scope;
        task(scope);
        scope.tasks.wait();
    }

    // Into an arena that keeps no place for the calling thread, which for that
    // time is one thread more than there are workers.
    template <class F>
    bool outside(F task) {
        tbb::global_control more(tbb::global_control::max_allowed_parallelism, workers + 1);
        tbb::task_arena arena(int(workers), 0);
        Scope scope;
        scope.arena = &arena;
        task(scope);
        scope.tasks.wait();
        return true;
    }

    struct Once {
        tbb::collaborative_once_flag flag;
        uint64_t value = 0;
    };

    template <class F>
    static uint64_t get_or_init(Once& once, F f) {
        tbb::collaborative_call_once(once.flag, [&] { once.value = f(); });
        return once.value;
    }

    void sort(uint64_t* begin, uint64_t* end) { tbb::parallel_sort(begin, end); }

    size_t workers;
    tbb::global_control limit;
};

int main(int count, char** words) { return bench::serve<Tbb>(count, words); }
