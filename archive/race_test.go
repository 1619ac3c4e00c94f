//go:build race

package archive_test

func init() { raceDetector = true }
