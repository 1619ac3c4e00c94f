package model

import (
	"encoding/base32"
	"fmt"

	"github.com/google/uuid"
)

// crockford is the TypeID alphabet: no i, l, o, u.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// MaxIDLength bounds every id: those that were imported are kept as they are.
const MaxIDLength = 64

// NewID returns a fresh id in TypeID form: the prefix and a UUIDv7 in 26 characters, so that ids
// of one kind sort by the time at which they were made. https://github.com/jetify-com/typeid
func NewID(prefix string) string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(fmt.Sprintf("read random bytes: %v", err))
	}
	return prefix + "_" + encode(id)
}

func encode(id uuid.UUID) string {
	var bits [20]byte
	copy(bits[4:], id[:])
	// 160 bits are 32 characters; the id is the last 128 bits, which the last 26 characters hold.
	return crockford.EncodeToString(bits[:])[6:]
}
