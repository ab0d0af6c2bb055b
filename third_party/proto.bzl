"""C++ from .proto files with the system's protoc."""

def lemma_cc_proto(name, srcs, deps = [], visibility = None):
    """A cc_library of the classes of `srcs`; include `path/to/file.pb.h`.

    Args:
      name: of the library.
      srcs: .proto files of this package. Imports are written from the workspace root.
      deps: other lemma_cc_proto targets that `srcs` import.
      visibility: as usual.
    """
    package = native.package_name()
    stems = [src[:-len(".proto")] for src in srcs]
    headers = [stem + ".pb.h" for stem in stems]
    sources = [stem + ".pb.cc" for stem in stems]
    native.filegroup(
        name = name + "_protos",
        srcs = srcs + [dep + "_protos" for dep in deps],
        visibility = visibility,
    )
    native.genrule(
        name = name + "_protoc",
        srcs = srcs + [dep + "_protos" for dep in deps],
        outs = headers + sources,
        cmd = "protoc --proto_path=. --cpp_out=$(GENDIR) " + " ".join([
            (package + "/" if package else "") + src
            for src in srcs
        ]),
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        copts = ["-Wno-unused-parameter"],
        visibility = visibility,
        deps = deps + ["//third_party:protobuf"],
    )
