package model

import (
	"encoding/base32"
	"fmt"
	"regexp"

	"github.com/google/uuid"
)

// crockford is the alphabet of TypeIDs: no i, l, o, u.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// MaxIDLength bounds every id, including imported ones.
const MaxIDLength = 64

// importedID matches ids from elsewhere. They need no escaping in a path, a header or a cursor.
var importedID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~:@-]{0,63}$`)

// IsID reports whether a text may be the id of an imported row: 1 to MaxIDLength ASCII letters, digits and . _ ~ : @
// -, starting with a letter or a digit.
func IsID(text string) bool { return importedID.MatchString(text) }

// NewID returns a new id in TypeID form (https://github.com/jetify-com/typeid): the prefix, and a UUIDv7 in 26
// characters. Ids of one kind sort by their time of creation.
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
	// 160 bits are 32 characters. The id is the last 128 bits, which are in the last 26 characters.
	return crockford.EncodeToString(bits[:])[6:]
}
