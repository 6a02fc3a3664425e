# Both programs. Without words it is the listener, on port 8080; it starts where it has something to verify events by:
#
#   docker build -t callsheet .
#   docker run --init --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     -p 127.0.0.1:8080:8080 -e LMS_SECRET callsheet
#   docker run --rm -e SUITE_BASE_URL -e SUITE_EMAIL -e SUITE_TOKEN callsheet suite issues list --mine
#
# deploy/docker/compose.yaml has the same with a secret in a file, routes and an inbox.

ARG PYTHON=3.13

FROM python:${PYTHON}-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
RUN python -m venv /opt/callsheet \
  && /opt/callsheet/bin/pip install --require-hashes -r requirements.lock \
  && pip install --require-hashes -r requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY scripts/build_hook.py scripts/build_hook.py
COPY definitions definitions
COPY engine engine
# The definitions are compiled here, so that a start does not have to.
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
  && /opt/callsheet/bin/pip install --no-deps /wheels/*.whl \
  && /opt/callsheet/bin/pip uninstall --yes pip \
  && for program in suite lms callsheet; do CALLSHEET_CACHE=/opt/callsheet/cache "/opt/callsheet/bin/$program" --help >/dev/null; done \
  && chmod -R a+rX /opt/callsheet/cache

FROM python:${PYTHON}-slim-trixie
LABEL org.opencontainers.image.title="Callsheet" \
  org.opencontainers.image.description="suite drives an issue tracker and a wiki, lms receives webhooks" \
  org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/callsheet /opt/callsheet
# The only folder that is written to, but for /tmp; it holds the inbox.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/callsheet
ENV PATH=/opt/callsheet/bin:$PATH \
  PYTHONDONTWRITEBYTECODE=1 \
  PYTHONUNBUFFERED=1 \
  CALLSHEET_HOME=/var/lib/callsheet \
  CALLSHEET_CACHE=/opt/callsheet/cache
USER 10001:10001
WORKDIR /var/lib/callsheet
VOLUME /var/lib/callsheet
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
CMD ["lms", "webhook", "listen", "--addr", "0.0.0.0:8080"]
