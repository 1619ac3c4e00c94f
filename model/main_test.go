package model

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// What rapid found is in its output; files that nobody asked for would stay behind.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
