"""C++ rules for a short build: few, large compilations, with headers parsed in advance.

Most of a compilation is the parsing of headers and the instantiation of templates that other files
of the library instantiate too. So:
- the headers of libraries that most files include are compiled in advance;
- the files of a library or test are compiled together (a unity build), up to _FILES at a time.
  `--config=nounity` compiles each by itself.

tools/build_rules/prelude_bazel puts these in the place of Bazel's rules, in every BUILD file. A
file still has to include what it uses, and compiles by itself. Names in unnamed namespaces have to
differ within a library; the unnamed namespaces of a file NAME_test.cc get its name instead.
"""

# More would leave a core idle while the other compiles the last of a library.
_FILES = 8

def _precompile(ctx):
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
    implementation = _precompile,
    attrs = {
        "headers": attr.string_list(doc = "Of libraries, as they are included."),
        "_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _concatenate(ctx):
    text = ctx.actions.declare_file(ctx.label.name + ".cc")
    ctx.actions.run_shell(
        mnemonic = "CppConcatenate",
        inputs = ctx.files.srcs,
        outputs = [text],
        # Messages of the compiler name the files themselves.
        command = """
            for file in "${@:2}"; do
              echo "#line 1 \\"$file\\""
              name=
              if [[ $file = *_test.cc ]]; then name="of_$(basename "$file" .cc) "; fi
              sed "s/^namespace {$/namespace $name{/" "$file"
            done > "$1"
        """,
        arguments = [text.path] + [file.path for file in ctx.files.srcs],
    )
    return [DefaultInfo(files = depset([text]))]

_unity_source = rule(
    implementation = _concatenate,
    attrs = {"srcs": attr.label_list(allow_files = [".cc"])},
)

def _unity(name, srcs, testonly = False):
    sources = [file for file in srcs if file.endswith(".cc")]
    if len(sources) < 2:
        return srcs
    others = [file for file in srcs if not file.endswith(".cc")]
    units = []
    count = (len(sources) + _FILES - 1) // _FILES
    for i in range(count):
        unit = "{}_unity{}".format(name, i + 1)
        _unity_source(
            name = unit,
            srcs = sources[len(sources) * i // count:len(sources) * (i + 1) // count],
            testonly = testonly,
            visibility = ["//visibility:private"],
        )
        units.append(":" + unit)
    return select({
        "//third_party/bazel:nounity": srcs,
        "//conditions:default": others + units,
    })

def _with_headers(rule, name, srcs = [], copts = [], deps = [], **kwargs):
    # Options of a target's own may change what the headers mean.
    if srcs and not copts:
        kind = "tests" if native.package_name().startswith("tests") else "library"
        copts = ["-include", "$(BINDIR)/third_party/precompiled/{}.h".format(kind)]
        deps = deps + ["//third_party/precompiled:" + kind]
    rule(name = name, srcs = srcs, copts = copts, deps = deps, **kwargs)

def cc_library(name, srcs = [], copts = [], unity = True, **kwargs):
    """Bazel's cc_library, with a precompiled header, its files compiled together if `unity`."""

    # Options may be meant for single files: wide vectors, for instance.
    if unity and not copts:
        srcs = _unity(name, srcs)
    _with_headers(native.cc_library, name, srcs = srcs, copts = copts, **kwargs)

def cc_binary(name, **kwargs):
    """Bazel's cc_binary, with a precompiled header."""
    _with_headers(native.cc_binary, name, **kwargs)

def cc_test(name, srcs, copts = [], **kwargs):
    """Bazel's cc_test, with a precompiled header, its files compiled together."""
    if not copts:
        srcs = _unity(name, srcs, testonly = True)
    _with_headers(native.cc_test, name, srcs = srcs, copts = copts, **kwargs)
