# The laboratory and the Python package, without Rust in what is shipped.
#
#   docker build -t cpss .
#   docker run --rm -v "$PWD/out:/out" cpss reproduce --quick --out /out
#   docker run --rm -it --entrypoint python cpss

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*
WORKDIR /cpss
COPY . .
# An image to give away runs on any processor.
ENV RUSTFLAGS=""
RUN python3 -m venv /build && /build/bin/pip install --quiet "maturin>=1.9.4,<2" \
    && /build/bin/maturin build --release --manifest-path python/Cargo.toml --compatibility linux --out /wheels

FROM python:3.12-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/cpss-*.whl && rm -r /wheels
ENTRYPOINT ["cpss"]
CMD ["--help"]
