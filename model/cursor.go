package model

import (
	"encoding/base64"
	"errors"
	"hash/crc32"
	"strings"
	"time"
)

// Cursor is a position in a list that is ordered by time of creation, then by id.
type Cursor struct {
	CreatedAt time.Time
	ID        string
}

// String is the opaque form that clients get.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.CreatedAt.UTC().Format(time.RFC3339Nano) + " " + c.ID))
}

// In returns the cursor with the mark of the list's table. The mark is in the nanoseconds, because Postgres stores
// microseconds. So servers without marks read the same position, also during an upgrade.
func (c Cursor) In(table string) Cursor {
	return Cursor{c.CreatedAt.Truncate(time.Microsecond).Add(markOf(table)), c.ID}
}

// isOf reports whether the cursor can be one of the table's list. Cursors of earlier versions have no mark.
func (c Cursor) isOf(table string) bool {
	mark := time.Duration(c.CreatedAt.Nanosecond()) % time.Microsecond
	return table == "" || mark == 0 || mark == markOf(table)
}

// markOf returns the mark of a table, 1 to 499 nanoseconds, which Postgres rounds off. Without a table, it is 0.
func markOf(table string) time.Duration {
	if table == "" {
		return 0
	}
	return time.Duration(1 + crc32.ChecksumIEEE([]byte(table))%499)
}

// ParseCursor parses the result of String, and refuses any other text.
func ParseCursor(s string) (Cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Cursor{}, err
	}
	at, id, _ := strings.Cut(string(raw), " ")
	created, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return Cursor{}, err
	}
	cursor := Cursor{CreatedAt: created, ID: id}
	var faults Fields
	faults.text("id", id, 1, MaxIDLength)
	if faults.Err() != nil || created.Year() < 1 || cursor.String() != s {
		return Cursor{}, errors.New("not a cursor")
	}
	return cursor, nil
}

// OrderedCursor is a position in a list of agents with another order: the value that the list is ordered by, as a
// text, then the id.
type OrderedCursor struct {
	Order   AgentOrder
	Key, ID string
}

// String is the opaque form that clients get.
func (c OrderedCursor) String() string {
	// Names and ids never contain this character.
	return base64.RawURLEncoding.EncodeToString([]byte(string(c.Order) + "\x00" + c.Key + "\x00" + c.ID))
}

// ParseOrderedCursor parses the result of String for a cursor of the order, and refuses any other text.
func ParseOrderedCursor(s string, order AgentOrder) (OrderedCursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return OrderedCursor{}, err
	}
	parts := strings.Split(string(raw), "\x00")
	if len(parts) != 3 || parts[0] != string(order) {
		return OrderedCursor{}, errors.New("not a cursor of this order")
	}
	cursor := OrderedCursor{Order: order, Key: parts[1], ID: parts[2]}
	var faults Fields
	faults.text("id", cursor.ID, 1, MaxIDLength)
	faults.text("key", cursor.Key, 1, 255)
	if at, err := time.Parse(time.RFC3339Nano, cursor.Key); order == AgentOrderUpdatedAt && (err != nil || at.Year() < 1) {
		faults.Add("key", "is not a time")
	}
	if faults.Err() != nil || cursor.String() != s {
		return OrderedCursor{}, errors.New("not a cursor")
	}
	return cursor, nil
}
