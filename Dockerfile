# The operator's image. It has not been built where it was written, for want of a container engine: see docs/install.md.
#
#   docker build --build-arg BASE=python:3.13-slim@sha256:… -t cronschedule-operator:0.1.0 .
#
# Give BASE a digest, so that the same sources make the same image; everything from PyPI has its hash.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
RUN python -m venv /opt/cronschedule
COPY hack/pins/runtime.txt hack/pins/runtime.txt
RUN /opt/cronschedule/bin/pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: -r hack/pins/runtime.txt
# The operator itself is its source folder: nothing is compiled, so no build tool is needed.
COPY operator/cronschedule /opt/cronschedule/source/cronschedule
RUN python -m compileall -q /opt/cronschedule/source /opt/cronschedule/lib \
    && /opt/cronschedule/bin/pip uninstall --yes pip

FROM ${BASE}
LABEL org.opencontainers.image.title="cronschedule-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/cronschedule /opt/cronschedule
ENV PATH=/opt/cronschedule/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/cronschedule/source \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["python", "-m", "cronschedule"]
