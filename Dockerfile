# docker build --build-arg VERSION=$(git describe --tags --always) -t agentgraph .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /source
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
ARG TARGETOS
ARG TARGETARCH
# The program must be static, because the final image has no libraries, and not even a shell.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -gcflags=github.com/agentgraph/agentgraph/graph=-l \
    -ldflags "-s -w -X main.release=$VERSION" -o /agentgraph ./cmd/agentgraph

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=
LABEL org.opencontainers.image.source=https://github.com/agentgraph/agentgraph \
    org.opencontainers.image.version=$VERSION org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /agentgraph /agentgraph
COPY LICENSE /LICENSE
# The root file system may be read-only: only /tmp is written, by large uploads and the PDF reader.
ENV XDG_CACHE_HOME=/tmp
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/agentgraph"]
CMD ["serve"]
