// The workloads on OpenMP, with whatever schedule and waiting policy the
// compiler's runtime has by default.
#include "../../workloads/cpp/workloads.hpp"

#include <omp.h>
#include <parallel/algorithm>

struct OpenMp {
    struct Scope {};

    explicit OpenMp(size_t workers) { omp_set_num_threads(int(workers)); }

    static std::string version() { return "g++ " __VERSION__ ", _OPENMP " + std::to_string(_OPENMP); }

    template <class F>
    void install(F task) {
#pragma omp parallel
#pragma omp single
        task();
    }

    template <class A, class B>
    static void join(A a, B b) {
#pragma omp task shared(a)
        a();
        b();
#pragma omp taskwait
    }

    template <class F>
    void pair(F task) {
#pragma omp parallel sections
        {
#pragma omp section
            task(0);
#pragma omp section
            task(1);
        }
    }

    template <class F>
    void for_each(size_t len, F body) {
#pragma omp parallel for
        for (size_t index = 0; index < len; ++index) body(index);
    }

    template <class F>
    static void spawn(Scope&, F task) {
#pragma omp task firstprivate(task)
        {
            Scope scope;
            task(scope);
        }
    }

    template <class F>
    void inside(F task) {
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
        {
            Scope scope;
            task(scope);
        }
    }

    // A task belongs to the team of a parallel region: there is no outside.
    template <class F>
    bool outside(F) { return false; }

    void sort(uint64_t* begin, uint64_t* end) { __gnu_parallel::sort(begin, end); }
};

int main(int count, char** words) { return bench::serve<OpenMp>(count, words); }
