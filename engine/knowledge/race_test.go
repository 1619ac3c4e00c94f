//go:build race

package knowledge_test

func init() { raceDetector = true }
