"""Fuzz targets."""

def lemma_fuzz_test(name, srcs, deps, corpus = [], data = []):
    """A test that runs a fuzz target (tests/fuzz/fuzz_target.h) over its corpus.

    Args:
      name: of the test.
      srcs: the target.
      deps: of the target.
      corpus: more labels of inputs; those in corpus/NAME are of it anyway.
      data: of the target.
    """
    inputs = native.glob(["corpus/" + name + "/*"]) + corpus
    native.cc_test(
        name = name,
        size = "small",
        srcs = srcs,
        args = ["$(location %s)" % f for f in inputs],
        data = inputs + data,
        linkopts = select({
            "//tests/fuzz:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        # tools/test --fuzz finds them by it.
        tags = ["fuzz"],
        deps = deps + ["//tests/fuzz:fuzz_target"] + select({
            "//tests/fuzz:libfuzzer": [],
            "//conditions:default": ["//tests/fuzz:driver"],
        }),
    )
