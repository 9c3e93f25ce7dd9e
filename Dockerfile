# fimbria with what a GPU needs beside its driver: NVRTC and the loader of OpenCL. docs/containers.md says how it is
# used. CUDA's own images, of several GB, are not needed.
FROM rust:1.89-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir --no-deps --target /nvrtc nvidia-cuda-nvrtc-cu12==12.9.86
WORKDIR /src
COPY . .
# Which source it is, for `fimbria --version -v`.
ARG FIMBRIA_COMMIT=""
RUN cargo build --release --locked -p fimbria \
    && packaging/rootfs /rootfs target/release/fimbria /nvrtc/nvidia/cuda_nvrtc/lib

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="fimbria" \
    org.opencontainers.image.description="Diffusion MRI from scanner files to maps" \
    org.opencontainers.image.source="https://github.com/fimbria/fimbria" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0"
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgcc-s1 ocl-icd-libopencl1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /rootfs/ /
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENTRYPOINT ["fimbria"]
CMD ["--help"]
