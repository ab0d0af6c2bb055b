"""C++ rules that compile with the headers of libraries parsed in advance.

tools/build_rules/prelude_bazel puts these in the place of Bazel's rules, in every BUILD file. A
file still has to include what it uses: without the precompiled header it compiles the same.
"""

def _impl(ctx):
    toolchain = ctx.attr._toolchain[cc_common.CcToolchainInfo]
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(header, "".join(["#include <{}>\n".format(name) for name in ctx.attr.headers]))
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    fragment = ctx.fragments.cpp
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = fragment.copts + fragment.cxxopts + ["-x", "c++-header"],
        source_file = header.path,
        output_file = compiled.path,
    )
    action = "c++-compile"
    ctx.actions.run(
        mnemonic = "CppPrecompile",
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = action,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
        inputs = depset([header], transitive = [toolchain.all_files]),
        outputs = [compiled],
    )
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset([header, compiled]),
    ))]

precompiled_header = rule(
    implementation = _impl,
    attrs = {
        "headers": attr.string_list(doc = "Of libraries, as they are included."),
        "_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _with_headers(rule, name, srcs = [], copts = [], deps = [], **kwargs):
    # Options of a target's own may change what the headers mean.
    if srcs and not copts:
        kind = "tests" if native.package_name().startswith("tests") else "library"
        copts = ["-include", "$(BINDIR)/third_party/precompiled/{}.h".format(kind)]
        deps = deps + ["//third_party/precompiled:" + kind]
    rule(name = name, srcs = srcs, copts = copts, deps = deps, **kwargs)

def cc_library(name, **kwargs):
    """Bazel's cc_library, with a precompiled header."""
    _with_headers(native.cc_library, name, **kwargs)

def cc_binary(name, **kwargs):
    """Bazel's cc_binary, with a precompiled header."""
    _with_headers(native.cc_binary, name, **kwargs)

def cc_test(name, **kwargs):
    """Bazel's cc_test, with a precompiled header."""
    _with_headers(native.cc_test, name, **kwargs)
