package model

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Credits is an exact amount in micro-credits, millionths of a credit. It is never a float.
type Credits int64

const (
	// Credit is one credit.
	Credit Credits = 1_000_000

	decimals = 6
)

// ParseCredits reads a decimal number with at most six decimals, such as 12, -0.5 or 1e-3.
func ParseCredits(text string) (Credits, error) {
	c, isInRange, err := parseCredits(text)
	if err == nil && !isInRange {
		return 0, Errorf(BadInput, "must be between -9223372036854.775808 and 9223372036854.775807")
	}
	return c, err
}

// parseCredits is ParseCredits, except that it returns the nearest possible amount if the number is too large.
func parseCredits(text string) (c Credits, isInRange bool, err error) {
	mantissa, exponent, err := splitExponent(text)
	if err != nil {
		return 0, false, notCredits(text)
	}
	unsigned := strings.TrimPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false, notCredits(text)
	}
	// The position of the decimal point from the left, after applying the exponent and converting to micro-credits.
	point := len(whole) + exponent + decimals
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if len(digits) < point {
		digits += strings.Repeat("0", point-len(digits))
	}
	if strings.Trim(digits[point:], "0") != "" {
		return 0, false, Errorf(BadInput, "must have at most six decimals")
	}
	sign := mantissa[:len(mantissa)-len(unsigned)]
	micro, err := strconv.ParseInt(sign+"0"+digits[:point], 10, 64)
	return Credits(micro), err == nil, nil
}

// longestNumber and largestExponent bound the numbers that are parsed. Amounts have further bounds.
const (
	longestNumber   = 64
	largestExponent = 32
)

// splitExponent splits a number into its mantissa and its exponent.
func splitExponent(text string) (string, int, error) {
	if len(text) > longestNumber {
		return "", 0, strconv.ErrRange
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return text, 0, nil
	}
	exponent, err := strconv.Atoi(text[at+1:])
	if err != nil || exponent < -largestExponent || exponent > largestExponent {
		return "", 0, strconv.ErrRange
	}
	return text[:at], exponent, nil
}

func notCredits(text string) error {
	if len(text) > longestNumber {
		return Errorf(BadInput, "must be a decimal number of at most %d characters", longestNumber)
	}
	return Errorf(BadInput, "must be a decimal number such as 12.5, not %q", text)
}

// String writes the amount as a decimal number without trailing zeros: 12.5, 0, -0.000001.
func (c Credits) String() string {
	magnitude := uint64(c)
	sign := ""
	if c < 0 {
		magnitude, sign = -magnitude, "-"
	}
	unit := uint64(Credit)
	text := sign + strconv.FormatUint(magnitude/unit, 10)
	if rest := magnitude % unit; rest > 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%0*d", decimals, rest), "0")
	}
	return text
}

// Value stores the micro-credits.
func (c Credits) Value() (driver.Value, error) { return int64(c), nil }

// MarshalJSON writes a JSON number.
func (c Credits) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalJSON reads what MarshalJSON writes, or a string with a number.
func (c *Credits) UnmarshalJSON(text []byte) (err error) {
	if string(text) != "null" {
		*c, err = ParseCredits(strings.Trim(string(text), `"`))
	}
	return err
}

// MarshalGQL writes a number.
func (c Credits) MarshalGQL(w io.Writer) { _, _ = io.WriteString(w, c.String()) }

// UnmarshalGQL parses a number in its original spelling, or a string with a number. If the number is too large, it
// stores the nearest possible amount, so that the check of the field returns an error with the field and its bound.
func (c *Credits) UnmarshalGQL(v any) (err error) {
	switch number := v.(type) {
	case string:
		*c, _, err = parseCredits(number)
	case json.Number:
		*c, _, err = parseCredits(number.String())
	case int64:
		*c, _, err = parseCredits(strconv.FormatInt(number, 10))
	default:
		err = Errorf(BadInput, "must be a number, or a string such as \"12.5\"")
	}
	return err
}

// UnmarshalText parses a text with ParseCredits.
func (c *Credits) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCredits(string(text))
	return err
}
