// Package bucket keeps objects in an S3-compatible bucket. Start reading at Parse.
package bucket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// timeout bounds all attempts to transfer an object, and deletionTimeout all attempts to delete one. deletionTimeout
	// is short: while the bucket does not answer, a worker that deletes many objects keeps other jobs waiting.
	timeout, deletionTimeout = 2 * time.Minute, 15 * time.Second
	// dialTimeout bounds the opening of a connection, and headerTimeout the wait for the response to one attempt.
	dialTimeout, headerTimeout = 5 * time.Second, 30 * time.Second
	// attempts is how often a request is made before it fails.
	attempts = 3
	// connections is how many idle connections are kept.
	connections = 16
)

// Bucket has the objects of one prefix of a bucket. It is safe for concurrent use. A *model.Error with the code
// UNAVAILABLE means that the bucket does not answer or refuses the request.
type Bucket struct {
	client *minio.Core
	name   string
	// prefix is empty or ends with a slash.
	prefix string
}

var (
	// bucketNamePattern matches bucket names that can be part of a host name.
	bucketNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixPattern     = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)*/?$`)
)

// Parse returns the bucket of an address, without a request to it:
//
//	s3://bucket/prefix?endpoint=https://minio.example.com&region=eu-west-1
//
// The endpoint is Amazon S3 by default, and the region us-east-1. The credentials come from the AWS variables
// (AWS_ACCESS_KEY_ID), or from the file that AWS_SHARED_CREDENTIALS_FILE names, by default ~/.aws/credentials. Errors
// do not repeat the address, because it may contain a secret by mistake.
func Parse(address string) (*Bucket, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "s3" {
		return nil, errors.New("must have the form s3://bucket/prefix?endpoint=https://host&region=name")
	}
	values, err := url.ParseQuery(parsed.RawQuery)
	switch {
	case parsed.User != nil:
		return nil, errors.New("must not contain credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case !bucketNamePattern.MatchString(parsed.Host):
		return nil, errors.New("must name a bucket of 3 to 63 lower-case letters, digits, dots and hyphens")
	case !prefixPattern.MatchString(parsed.Path) || strings.Contains(parsed.Path, "/."):
		return nil, errors.New("must have a prefix of letters, digits, - _ . and slashes")
	case err != nil || parsed.Fragment != "":
		return nil, errors.New("must end with parameters such as ?endpoint=https://host&region=name")
	}
	for name := range values {
		if name != "endpoint" && name != "region" {
			return nil, errors.New("may have the parameters endpoint and region only")
		}
	}
	endpoint, err := url.Parse(cmp.Or(values.Get("endpoint"), "https://s3.amazonaws.com"))
	if err != nil || endpoint.Scheme != "https" && endpoint.Scheme != "http" || endpoint.Host == "" ||
		endpoint.User != nil || strings.Trim(endpoint.Path, "/") != "" || endpoint.RawQuery != "" {
		return nil, errors.New("must have an endpoint such as https://minio.example.com:9000, without a path")
	}
	prefix := strings.Trim(parsed.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	client, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
		}),
		Secure: endpoint.Scheme == "https", Region: cmp.Or(values.Get("region"), "us-east-1"), MaxRetries: attempts,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: headerTimeout, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute, DisableCompression: true,
		},
	})
	if err != nil {
		return nil, errors.New("must have a valid endpoint")
	}
	return &Bucket{client, parsed.Host, prefix}, nil
}

// Put writes an object of the size, in bytes. It may read the content more than once.
func (b *Bucket) Put(ctx context.Context, key string, content io.ReadSeeker, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// One request writes the whole object or nothing. The server compares the MD5.
	_, err := b.client.Client.PutObject(ctx, b.name, b.prefix+key, content, size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", SendContentMd5: true, DisableMultipart: true,
	})
	return explain(err)
}

// Get returns exactly length bytes of an object from the offset. The length must be above 0. The error wraps
// fs.ErrNotExist if there is no such object.
func (b *Bucket) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var options minio.GetObjectOptions
	if err := options.SetRange(offset, offset+length-1); err != nil {
		return nil, err
	}
	body, _, _, err := b.client.GetObject(ctx, b.name, b.prefix+key, options)
	if err != nil {
		return nil, explain(err)
	}
	defer func() { _ = body.Close() }()
	content := make([]byte, length)
	_, err = io.ReadFull(body, content)
	return content, explain(err)
}

// Delete deletes an object, if it exists.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	return b.remove(ctx, b.prefix+key)
}

func (b *Bucket) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	return explain(b.client.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{}))
}

// DeleteAll deletes every object whose key begins with the prefix.
func (b *Bucket) DeleteAll(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithCancel(ctx) // ends the list
	defer cancel()
	for object := range b.client.Client.ListObjects(ctx, b.name, minio.ListObjectsOptions{
		Prefix: b.prefix + prefix, Recursive: true,
	}) {
		if object.Err != nil {
			return explain(object.Err)
		}
		if err := b.remove(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}

// Check writes, reads, lists and deletes a small object, so that missing rights are found.
func (b *Bucket) Check(ctx context.Context) error {
	key, content := model.NewID("check"), []byte("agentgraph")
	if err := b.Put(ctx, key, bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	_, err := b.Get(ctx, key, 0, int64(len(content)))
	return errors.Join(err, b.DeleteAll(ctx, key))
}

// explain returns UNAVAILABLE with the server's code, or fs.ErrNotExist. It returns nil and context.Canceled unchanged.
// All other results wrap the original error, which has no secrets, because requests have them only in headers.
func explain(err error) error {
	var answer minio.ErrorResponse
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &answer):
		answer.Code = "no answer"
	case answer.Code == minio.NoSuchKey:
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return errors.Join(model.Errorf(model.Unavailable, "the bucket with the documents cannot be used (%s); try again "+
		"later", answer.Code), err)
}
