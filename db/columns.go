package db

import (
	"reflect"
	"strings"
)

// Columns returns the columns of a row, a struct, by the lower-case names of its fields.
func (s *Store) Columns(row any) map[string]string {
	columns := map[string]string{}
	for _, field := range s.db.Table(reflect.TypeOf(row)).Fields {
		columns[strings.ToLower(field.GoName)] = field.Name
	}
	return columns
}
