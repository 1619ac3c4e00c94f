package endpoint

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

func TestMessagesAreSignedByEachKey(t *testing.T) {
	t.Parallel()
	c := local(t)
	var got seen
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.RequestURI, string(body), r.Header}
	})
	message := Message{ID: "msg_1", Body: []byte(`{"type":"webhook.ping"}`), Keys: [][]byte{[]byte("the current key"),
		[]byte("the key before")}}
	status, err := c.Deliver(t.Context(), address+"/hook?key=sesame", message)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "POST /hook?key=sesame", got.Method+" "+got.URI)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, "msg_1", got.Header.Get("webhook-id"))
	for _, key := range message.Keys {
		receiver, err := standardwebhooks.NewWebhookRaw(key)
		require.NoError(t, err)
		require.NoError(t, receiver.Verify([]byte(got.Body), got.Header))
		require.Error(t, receiver.Verify([]byte(got.Body+" "), got.Header))
	}
	stranger, err := standardwebhooks.NewWebhookRaw([]byte("another key"))
	require.NoError(t, err)
	require.ErrorIs(t, stranger.Verify([]byte(got.Body), got.Header), standardwebhooks.ErrNoMatchingSignature)
}

func TestOnlyStatus2xxAcceptsAMessage(t *testing.T) {
	t.Parallel()
	c := local(t)
	status, requests := 0, 0
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "20")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "not JSON, and long: %05000d", 0) // the body is ignored if the message is accepted
	})
	message := Message{ID: "msg_1", Body: []byte(`{}`), Keys: [][]byte{[]byte("a key")}}
	for _, status = range []int{http.StatusOK, http.StatusAccepted} {
		got, err := c.Deliver(t.Context(), address, message)
		require.NoError(t, err)
		require.Equal(t, status, got)
	}
	for _, status = range []int{http.StatusFound, http.StatusPermanentRedirect, http.StatusGone,
		http.StatusServiceUnavailable} {
		requests = 0
		got, err := c.Deliver(t.Context(), address, message)
		failure := fails(t, err, Status)
		require.Equal(t, status, got)
		require.Equal(t, 1, requests, "redirects are not followed")
		require.Contains(t, failure.Message, fmt.Sprint("the webhook answered ", status))
		require.Less(t, len(failure.Message), 600)
		if status >= http.StatusBadRequest {
			require.Equal(t, 20*time.Second, failure.RetryAfter())
		}
	}
	_, err := c.Deliver(t.Context(), "http://127.0.0.2:1/", message)
	require.Equal(t, "the address of the webhook is in a network that may not be reached", fails(t, err, Refused).
		Message)
	_, err = c.Deliver(t.Context(), "ftp://a.example/", message)
	_ = fails(t, err, Refused)
}
