# The command in an image:
#   docker build -t lemma .
#   docker run --rm -v "$PWD:/work" lemma optimize model.onnx -o faster.onnx
# For a GPU, add --gpus=all and an image with NVRTC in place of debian:12-slim.
FROM debian:12 AS build
COPY . /lemma
WORKDIR /lemma
RUN tools/install && tools/package /dist
RUN mkdir /opt/lemma && tar -xf /dist/lemma-*.tar.xz -C /opt/lemma --strip-components=1

FROM debian:12-slim
COPY --from=build /opt/lemma /opt/lemma
RUN ln -s /opt/lemma/bin/lemma /usr/local/bin/lemma
WORKDIR /work
ENTRYPOINT ["lemma"]
