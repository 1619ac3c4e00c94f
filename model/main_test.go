package model

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// rapid prints the failing case anyway, and its files would remain in the directory.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
