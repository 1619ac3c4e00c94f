package cli

import (
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// merger expands merge keys, such as "<<: *base". A mapping's own keys take precedence at any position, then the keys
// of the first merged mapping. The decoder alone would keep duplicates.
type merger struct {
	anchors map[string]ast.Node
}

// expand expands the merge keys of a node and its descendants.
func (m *merger) expand(node ast.Node) error {
	switch n := node.(type) {
	case *ast.AnchorNode:
		err := m.expand(n.Value)
		// The anchor is not defined within its own node.
		m.anchors[n.Name.GetToken().Value] = n.Value
		return err
	case *ast.TagNode:
		return m.expand(n.Value)
	case *ast.SequenceNode:
		for _, value := range n.Values {
			if err := m.expand(value); err != nil {
				return err
			}
		}
	case *ast.MappingNode:
		return m.mapping(n)
	}
	return nil
}

func (m *merger) mapping(n *ast.MappingNode) error {
	own, merges := map[string]bool{}, false
	for _, value := range n.Values {
		if err := m.expand(value.Value); err != nil {
			return err
		}
		if value.Key.IsMergeKey() {
			merges = true
		} else {
			own[value.Key.GetToken().Value] = true
		}
	}
	if !merges {
		return nil
	}
	var all []*ast.MappingValueNode
	for _, value := range n.Values {
		if !value.Key.IsMergeKey() {
			all = append(all, value)
			continue
		}
		merged, err := m.mergeValues(value.Value, true)
		if err != nil {
			return err
		}
		for _, one := range merged {
			if key := one.Key.GetToken().Value; !own[key] {
				all, own[key] = append(all, one), true
			}
		}
	}
	n.Values = all
	return nil
}

// mergeValues returns the values of the mapping that a merge key refers to, or of a list of mappings if mayBeList is
// set.
func (m *merger) mergeValues(node ast.Node, mayBeList bool) (all []*ast.MappingValueNode, err error) {
	switch n := node.(type) {
	case *ast.AnchorNode:
		return m.mergeValues(n.Value, mayBeList)
	case *ast.AliasNode:
		if named := m.anchors[n.Value.GetToken().Value]; named != nil {
			return m.mergeValues(named, mayBeList)
		}
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.SequenceNode:
		if !mayBeList {
			break
		}
		for _, value := range n.Values {
			values, err := m.mergeValues(value, false)
			if err != nil {
				return nil, err
			}
			all = append(all, values...)
		}
		return all, nil
	}
	return nil, &yaml.SyntaxError{Message: "<< must name a mapping, or a list of mappings", Token: node.GetToken()}
}
