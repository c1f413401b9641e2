// The workloads without any runtime, in C++: the baseline of OpenMP and TBB.
#include "../../workloads/cpp/workloads.hpp"

struct Serial {
    struct Scope {};

    explicit Serial(size_t) {}

    static std::string version() { return "g++ " __VERSION__; }

    template <class F>
    void install(F task) { task(); }

    template <class A, class B>
    static void join(A a, B b) {
        a();
        b();
    }

    template <class F>
    void pair(F task) {
        task(0);
        task(1);
    }

    template <class F>
    void for_each(size_t len, F body) {
        for (size_t index = 0; index < len; ++index) body(index);
    }

    template <class F>
    static void spawn(Scope& scope, F task) { task(scope); }

    template <class F>
    void inside(F task) {
        Scope scope;
        task(scope);
    }

    template <class F>
    bool outside(F task) {
        inside(task);
        return true;
    }

    void sort(uint64_t* begin, uint64_t* end) { std::sort(begin, end); }
};

int main(int count, char** words) { return bench::serve<Serial>(count, words); }
