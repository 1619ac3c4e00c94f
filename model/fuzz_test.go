package model

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzCursor requires that parsing and writing a cursor gives the same text, so that each position has one cursor.
func FuzzCursor(f *testing.F) {
	f.Add(Cursor{now, "agent_01jqxyz"}.String())
	f.Add("MjAyNi0wMy0wMVQwOTozMDowMFogYQ")
	f.Add("MjAyNi0wMy0wMVQwOTozMDowMFogYR")
	f.Add("MjAyNi0wMy0wMVQwOTozMDowMCswMTowMCBh\n")
	f.Fuzz(func(t *testing.T, text string) {
		cursor, err := ParseCursor(text)
		require.Equal(t, err == nil, PageArgs{First: 1, After: &text}.Validate() == nil)
		if err != nil {
			return
		}
		require.Equal(t, text, cursor.String())
		require.NotContains(t, cursor.ID, "\x00")
		again, err := ParseCursor(cursor.String())
		require.NoError(t, err)
		require.True(t, cursor.CreatedAt.Equal(again.CreatedAt))
	})
}

// FuzzSecret requires that a parsed secret names a company and is of one kind of credential only. Each text is tried
// unchanged, and again with the right checksum, because nearly all texts are refused without it.
func FuzzSecret(f *testing.F) {
	for _, company := range []string{"company_01jqxyz", "company_", "acme", "company_a_b", "company_i"} {
		for _, kind := range []string{keyKind, tokenKind} {
			body, secret := Signer{}.newSecret(kind, company)
			f.Add(body)
			f.Add(secret)
		}
	}
	f.Add("ag__" + strings.Repeat("a", secretLength))
	f.Add("ag_a_b_" + strings.Repeat("a", secretLength))
	f.Fuzz(func(t *testing.T, text string) {
		for _, secret := range []string{text, text + checksum(text)} {
			company, prefix, isKey := ParseAPIKey(secret)
			owner, hash, isToken := ParseAccessToken(secret)
			require.False(t, isKey && isToken)
			require.False(t, isKey && IsAccessToken(secret))
			require.False(t, isToken && !IsAccessToken(secret))
			switch {
			case isKey:
				require.True(t, strings.HasPrefix(secret, prefix))
				require.Equal(t, "ag_"+nameOfCompany(company)+"_", prefix[:len(prefix)-prefixLength])
				require.True(t, (&APIKey{Hash: HashOfSecret(secret)}).Matches(secret))
			case isToken:
				require.True(t, strings.HasPrefix(secret, "agt_"+nameOfCompany(owner)+"_"))
				require.Equal(t, HashOfSecret(secret), hash)
			}
		}
	})
}

// FuzzPhoneNumber requires that an accepted number is in E.164 form, is accepted again unchanged, and is masked in
// texts.
func FuzzPhoneNumber(f *testing.F) {
	for _, number := range []string{
		"+12025550143", "(202) 555-0143", "+33 1 42 68 53 00", "01 42 68 53 00", "+39 06 698 82222", "tel:+12025550143",
		"+1 202 555 0143 ext. 5", "1-800-FLOWERS",
		"٠١٢٣٤٥٦٧٨٩", "+１２０２５５５０１４３", "+54 9 11 2345 6789", "0054 11 1234 5678", "+49 (0)30 901820", "112", "+",
		"+4920100000000000", "4917612345678",
	} {
		for _, region := range []string{"", "US", "FR", "AR", "DE"} {
			f.Add(number, region)
		}
	}
	e164 := regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	f.Fuzz(func(t *testing.T, number, region string) {
		var faults Fields
		from := &region
		if region == "" {
			from = nil
		}
		taken := faults.phoneNumber("n", number, from)
		require.Equal(t, len(faults) > 0, taken == "")
		if taken == "" {
			return
		}
		require.Regexp(t, e164, taken)
		require.Equal(t, taken, faults.phoneNumber("n", taken, nil), faults)
		require.Equal(t, strings.Repeat("*", len(taken)-5)+taken[len(taken)-4:], mask(taken)[1:])
	})
}

// FuzzMask requires that nothing like a phone number is left, and that only digits are changed.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{
		"Call +1 (202) 555-0143 or 0142685300.", "12345678   1234567", "1234567+1234567", "order 123456", "1.2.3.4.5.6.7.8",
		"12 34/56-78",
		"2026-11-29T10:30:00.123Z 10.20.30.40:5060 1234567:12:30", "\xff1234567\xff", "＋４９‐３０\u00ad１２３４５６",
		"31.12.2026 1:30, 12/31/2026", "1.234.567,89 EUR and 1 234 567,8", "1.000.000,00 00000", "٣١/١٢/٢٠٢٦",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		masked := mask(text)
		for _, run := range digitRun.FindAllStringIndex(masked, -1) {
			require.False(t, mayBePhone(masked[run[0]:run[1]], masked[run[1]:]), masked)
		}
		if !utf8.ValidString(text) {
			return // invalid UTF-8 becomes U+FFFD
		}
		before, after := []rune(text), []rune(masked)
		require.Len(t, after, len(before))
		for i := range before {
			if after[i] != before[i] {
				require.Equal(t, '*', after[i])
				require.True(t, unicode.IsDigit(before[i]))
			}
		}
		require.Equal(t, masked, mask(masked))
	})
}
