package model

// Map returns the result of fn for each value, in order. It is empty, not nil, when there are no values.
func Map[T, R any](given []T, fn func(T) R) []R {
	all := make([]R, len(given))
	for i, v := range given {
		all[i] = fn(v)
	}
	return all
}

// MapOf returns a map with the key and the value that fn returns for each of the given values. Of equal keys, the last
// one counts.
func MapOf[T any, K comparable, V any](given []T, fn func(T) (K, V)) map[K]V {
	all := make(map[K]V, len(given))
	for _, v := range given {
		key, value := fn(v)
		all[key] = value
	}
	return all
}

// Values returns the values that the pointers refer to.
func Values[T any](given []*T) []T {
	return Map(given, func(v *T) T { return *v })
}

// Unique returns the distinct values, in the order of their first appearance.
func Unique[T comparable](given []T) []T {
	all := make([]T, 0, len(given))
	seen := make(map[T]bool, len(given))
	for _, v := range given {
		if !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	return all
}
