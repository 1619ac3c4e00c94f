package model

import "slices"

// Next returns the numbers of the changes to restore in the next step, or the verdict if the recorded steps decide it.
// With a verdict, it also sets the cause. No step may be in progress.
//
// The first step restores everything: if no run passes, the prompt does not explain the failure. The second restores
// nothing, for comparison. The third restores the suspects. If they do not repair the test, the search begins with all
// changes. It reduces them to a set in which every change is needed, by delta debugging (Zeller's ddmin). The last step
// restores everything except that set. A step is repeated until its runs decide whether it repairs the test. Later
// steps are left out if their prompt is empty or too long. bad is the failing prompt.
func (s *BlameSearch) Next(bad string) ([]int32, *BlameVerdict) {
	all := bySuspicion(s.Changes)
	switch len(s.Steps) {
	case 0:
		return inOrder(all), nil
	case 1:
		if *s.Steps[0].Passed == 0 {
			return nil, new(BlameVerdictNotExplained)
		}
		return []int32{}, nil
	}
	if next, verdict := s.compareEnds(inOrder(all)); next != nil || verdict != nil {
		return next, verdict
	}
	cause, next := s.reduce(bad, all)
	isMinimal := next == nil
	if isMinimal {
		rest := without(all, cause)
		switch isRepaired, isKnown := s.outcome(bad, rest); {
		case !isKnown:
			next = rest
		case s.isRunnable(bad, rest):
			s.IsOnlyCause = new(!isRepaired)
		}
	}
	if next != nil && len(s.Steps) < int(maxSteps(len(s.Changes))) {
		return inOrder(next), nil
	}
	if isMinimal || len(cause) < len(all) {
		s.CauseNumbers = inOrder(cause)
	}
	if isMinimal {
		return nil, new(BlameVerdictFound)
	}
	return nil, new(BlameVerdictUndecided)
}

// compareEnds returns nothing if restoring all changes is better than restoring none. Otherwise it returns which of the
// two steps to repeat, or the verdict.
func (s *BlameSearch) compareEnds(all []int32) ([]int32, *BlameVerdict) {
	whole, bare := s.sum(all), s.sum(nil)
	switch {
	case whole.improves(bare):
		return nil, nil
	case *bare.Passed == *bare.Judged:
		return nil, new(BlameVerdictNotReproduced)
	case len(s.Steps) < 2*maxTries && *whole.Judged <= *bare.Judged:
		return all, nil
	case len(s.Steps) < 2*maxTries:
		return []int32{}, nil
	case 2**whole.Passed <= *whole.Judged:
		return nil, new(BlameVerdictNotExplained)
	}
	return nil, new(BlameVerdictUndecided)
}

// reduce returns the fewest changes that are known to repair the test, and the changes of the next step. next is nil
// when each of the changes is needed.
func (s *BlameSearch) reduce(bad string, all []int32) (left, next []int32) {
	left = all
	suspects := slices.DeleteFunc(slices.Clone(all), func(n int32) bool { return !s.Changes[n-1].IsSuspect })
	switch isRepaired, isKnown := s.outcome(bad, suspects); {
	case !isKnown:
		return left, suspects
	case isRepaired:
		left = suspects
	}
	for parts := 2; len(left) > 1; {
		smaller, next := s.narrow(bad, left, parts)
		switch {
		case next != nil:
			return left, next
		case smaller == nil && parts == len(left):
			return left, nil
		case smaller == nil:
			parts = min(2*parts, len(left))
		case 2*len(smaller) <= len(left)+1:
			left, parts = smaller, 2
		default:
			left, parts = smaller, max(parts-1, 2)
		}
	}
	return left, nil
}

// narrow divides the changes into parts. It returns the first part that repairs the test. If no part does, it returns
// the first complement of a part that does, or nil. While that is unknown, it returns the changes of the next step.
func (s *BlameSearch) narrow(bad string, changes []int32, parts int) (smaller, next []int32) {
	sets := make([][]int32, 0, 2*parts)
	for i := range parts {
		sets = append(sets, changes[i*len(changes)/parts:(i+1)*len(changes)/parts])
	}
	for i := 0; parts > 2 && i < parts; i++ {
		sets = append(sets, without(changes, sets[i]))
	}
	for _, set := range sets {
		switch isRepaired, isKnown := s.outcome(bad, set); {
		case !isKnown:
			return nil, set
		case isRepaired:
			return set, nil
		}
	}
	return nil, nil
}

// outcome reports whether restoring the changes repairs the test, and whether the steps so far decide that. A prompt
// that cannot run repairs nothing.
func (s *BlameSearch) outcome(bad string, restored []int32) (isRepaired, isKnown bool) {
	switch len(restored) {
	case 0:
		return false, true
	case len(s.Changes):
		return true, true
	}
	if step := s.sum(inOrder(restored)); *step.Judged > 0 {
		return s.repairs(step)
	}
	return false, !s.isRunnable(bad, restored)
}

// sum adds up the steps with the same changes restored.
func (s *BlameSearch) sum(restored []int32) *BlameStep {
	sum := &BlameStep{Restored: restored, Judged: new(int32), Passed: new(int32)}
	for _, step := range s.Steps {
		if slices.Equal(step.Restored, restored) {
			*sum.Judged += *step.Judged
			*sum.Passed += *step.Passed
		}
	}
	return sum
}

// isRunnable reports whether the failing prompt with the changes restored is within the bounds of a prompt.
func (s *BlameSearch) isRunnable(bad string, restored []int32) bool {
	var faults Fields
	faults.draft("prompt", new(RestorePrompt(bad, s.Changes, restored)))
	return len(faults) == 0
}

// repairs compares the step with those that restore all changes and none. A step repairs the test if it is better than
// the one with none and not worse than the one with all. It is decided if exactly one of the two differences is large
// enough.
func (s *BlameSearch) repairs(step *BlameStep) (isRepaired, isKnown bool) {
	isBetter, isWorse := step.improves(s.sum(nil)), s.sum(s.Steps[0].Restored).improves(step)
	return isBetter, isBetter != isWorse
}

// decisive is the highest p-value that decides a step. It is lower than usual because a search compares many steps.
// 5 of 5 runs against 0 of 5 have 0.0079.
const decisive = 0.008

// improves reports whether clearly more runs passed than in the other step.
func (s *BlameStep) improves(other *BlameStep) bool {
	return *s.Passed**other.Judged > *other.Passed**s.Judged &&
		fisher(*other.Passed, *other.Judged-*other.Passed, *s.Passed, *s.Judged-*s.Passed) <= decisive
}

func inOrder(numbers []int32) []int32 { return slices.Sorted(slices.Values(numbers)) }

func without(numbers, removed []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(numbers), func(n int32) bool { return slices.Contains(removed, n) })
}
