package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"
)

// Session is a token with which a page calls the API.
type Session struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
	Scopes    []string  `json:"scopes"`
}

// An Invitation exchanges a code for a session, once. The code is for the person who started the program and saw its
// output.
type Invitation struct {
	session func(context.Context) (Session, error)
	until   time.Time

	mu   sync.Mutex
	code string
}

// invitationTTL is how long a code is valid.
const invitationTTL = 24 * time.Hour

// NewInvitation makes a random code. It calls session when a client presents the code.
func NewInvitation(session func(context.Context) (Session, error)) *Invitation {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret)
	return &Invitation{session: session, until: time.Now().Add(invitationTTL),
		code: base64.RawURLEncoding.EncodeToString(secret)}
}

// Fragment returns the URL fragment that carries the code to the console. Browsers do not send fragments to servers.
func (i *Invitation) Fragment() string { return "#code=" + i.code }

// ServeHTTP answers a POST of {"code": "…"} with a Session, or with 410 if the code is wrong, used or expired.
func (i *Invitation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	// A page of another site cannot send this type without a preflight request, which is refused.
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "the body must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	var shown struct {
		Code string `json:"code"`
	}
	if json.NewDecoder(io.LimitReader(r.Body, 1<<10)).Decode(&shown) != nil {
		http.Error(w, `the body must be {"code": "…"}`, http.StatusBadRequest)
		return
	}
	if !i.useCode(shown.Code) {
		http.Error(w, "the code is invalid or has expired: sign in with the API key", http.StatusGone)
		return
	}
	session, err := i.session(r.Context())
	if err != nil {
		http.Error(w, "could not create a session: sign in with the API key", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(session)
}

// useCode reports whether the code is right, and uses it up.
func (i *Invitation) useCode(code string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	good := i.code != "" && time.Now().Before(i.until) && subtle.ConstantTimeCompare([]byte(code), []byte(i.code)) == 1
	if good {
		i.code = ""
	}
	return good
}
