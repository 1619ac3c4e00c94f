package bucket_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/bucket"
	"github.com/agentgraph/agentgraph/db/bucket/s3test"
	"github.com/agentgraph/agentgraph/model"
)

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"s3://documents", "s3://my.documents-2/a/b_c/", "s3://documents?region=eu-west-1",
		"s3://documents/a?endpoint=http://127.0.0.1:9000&region=x",
	} {
		_, err := bucket.Parse(address)
		require.NoError(t, err, address)
	}
	for address, says := range map[string]string{
		"": "must have the form", "https://documents": "must have the form", "s3://%zz": "must have the form",
		"s3://key:hunter2@documents": "must not contain credentials", "s3://Documents": "must name a bucket",
		"s3:///prefix": "must name a bucket", "s3://documents/../a": "must have a prefix", "s3://documents/a b": "prefix",
		"s3://documents?secret=hunter2": "endpoint and region only", "s3://documents#hunter2": "must end with parameters",
		"s3://documents?endpoint=127.0.0.1:9000":            "must have an endpoint",
		"s3://documents?endpoint=https://u:hunter2@host":    "must have an endpoint",
		"s3://documents?endpoint=https://host/path":         "must have an endpoint",
		"s3://documents?endpoint=ftp://host":                "must have an endpoint",
		"s3://documents?endpoint=https://host&region=%zz%2": "must end with parameters",
	} {
		_, err := bucket.Parse(address)
		require.ErrorContains(t, err, says, address)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestObjectsAreWrittenReadAndDeleted(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	b := open(t, server.Address("/one/two"))
	require.NoError(t, b.Check(t.Context()))
	require.Empty(t, server.Keys(t), "a check leaves nothing behind")
	content := bytes.Repeat([]byte("0123456789"), 3<<20)
	for _, key := range []string{"a/1", "a/2", "ab/1"} {
		require.NoError(t, b.Put(t.Context(), key, bytes.NewReader(content), int64(len(content))))
	}
	require.Equal(t, []string{"one/two/a/1", "one/two/a/2", "one/two/ab/1"}, server.Keys(t))
	read, err := b.Get(t.Context(), "a/1", 0, int64(len(content)))
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, read))
	read, err = b.Get(t.Context(), "a/1", 12, 5)
	require.NoError(t, err)
	require.Equal(t, "23456", string(read))
	_, err = b.Get(t.Context(), "a/1", int64(len(content))-5, 6)
	require.Error(t, err, "the object is shorter")
	_, err = b.Get(t.Context(), "a/3", 0, 5)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, b.Delete(t.Context(), "a/3"), "there is no such object")
	require.NoError(t, b.DeleteAll(t.Context(), "a/"))
	require.Equal(t, []string{"one/two/ab/1"}, server.Keys(t))
	require.NoError(t, b.Delete(t.Context(), "ab/1"))
	require.Empty(t, server.Keys(t))
}

func TestFailuresAreUnavailable(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	fails := func(says string, err error) {
		t.Helper()
		var known *model.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, model.Unavailable, known.Code)
		require.Contains(t, known.Message, says)
		require.NotContains(t, err.Error(), "test-secret-key")
	}
	fails("NoSuchBucket", open(t, strings.Replace(server.Address(""), "//documents", "//other", 1)).Check(t.Context()))
	b := open(t, server.Address(""))
	server.Accepts.Store("another-key")
	fails("InvalidAccessKeyId", b.Check(t.Context()))
	server.Accepts.Store(s3test.Key)
	server.IsDown.Store(true)
	fails("no answer", b.Put(t.Context(), "a", strings.NewReader("x"), 1))
	fails("no answer", b.Delete(t.Context(), "a"))
	fails("no answer", b.DeleteAll(t.Context(), "a"))
}

func open(t *testing.T, address string) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Parse(address)
	require.NoError(t, err)
	return b
}
