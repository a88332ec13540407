# The image of the bot, for amd64 and arm64: `docker build -t cogency .`. For how to run it, see deploy/README.md.
ARG PYTHON=3.13

# The base images have tags instead of digests, so that each build gets the newest security updates. For reproducible
# builds, add "@sha256:" and a digest to both names.
FROM python:${PYTHON}-slim AS build
WORKDIR /src
COPY requirements/uv.txt requirements/uv.txt
RUN pip install --no-cache-dir --require-hashes -r requirements/uv.txt
# The locked dependencies come first, because they rarely change, so this layer stays cached.
COPY requirements/image.txt requirements/image.txt
RUN --mount=type=cache,target=/root/.cache/uv \
    uv venv --no-project /opt/cogency \
    && uv pip install --python /opt/cogency --link-mode copy --require-hashes --no-deps -r requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY agent agent
COPY bot bot
COPY store store
# image.txt locks the dependencies of these two extras. Those of others are resolved during the build:
# --build-arg EXTRAS=mcp,otel,web
ARG EXTRAS="mcp,otel"
RUN uv pip install --python /opt/cogency --no-deps --no-build-isolation . \
    && if [ "$EXTRAS" != "mcp,otel" ]; then \
         uv pip install --python /opt/cogency --no-build-isolation ".[$EXTRAS]"; \
       fi \
    && uv pip uninstall --python /opt/cogency hatchling editables \
    && touch /opt/cogency/cogency-image \
    && /opt/cogency/bin/cogency --version
# With the extra "python", this compiles the sandbox: two minutes of CPU time, 1.7 GB of memory, 290 MB of disk space.
RUN case ",$EXTRAS," in *,python,*) \
      /opt/cogency/bin/python -m bot.python.compiled_ahead /opt/cogency/cogency-sandbox ;; \
    esac

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="cogency" \
      org.opencontainers.image.description="A self-hosted AI agent for Slack and Discord" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/cogency /opt/cogency
# The bot writes only to this folder and to /tmp. Group 0 can write to it, as platforms that choose the user themselves require.
RUN install -d -m 2770 -o 10001 -g 0 /data
ENV PATH=/opt/cogency/bin:$PATH \
    HOME=/data \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    COGENCY_DATABASE_URL=sqlite:////data/cogency.db \
    COGENCY_HEALTH=0.0.0.0:8081
WORKDIR /data
VOLUME /data
USER 10001:0
EXPOSE 8081
# After an upgrade, the first start may index for minutes. It counts as healthy in the meantime.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8081/livez', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["cogency"]
CMD ["run"]
