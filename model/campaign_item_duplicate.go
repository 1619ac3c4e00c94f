package model

import "fmt"

// WithoutDuplicates returns the new items to add, and the duplicates: new items with the number of an earlier new item
// or of an open item. openItems has the ids of open items by number. With OnDuplicateKeep, duplicates are also items to
// add. With OnDuplicateRefuse, duplicates result in CONFLICT, which names them all.
func (in AddCampaignItemsInput) WithoutDuplicates(
	items []*CampaignItem, openItems map[string]string,
) ([]*CampaignItem, []*CampaignItemDuplicate, error) {
	added, duplicates := make([]*CampaignItem, 0, len(items)), []*CampaignItemDuplicate{}
	var faults Fields
	first := map[string]int32{}
	for i, item := range items {
		number := item.PhoneNumber
		at, isTwice := first[number]
		id, isOpen := openItems[number]
		if number == "" || !isTwice && !isOpen {
			first[number] = int32(i)
			added = append(added, item)
			continue
		}
		duplicate := &CampaignItemDuplicate{Index: int32(i), PhoneNumber: number}
		path := fmt.Sprintf("items.%d.phoneNumber", i)
		if isOpen {
			duplicate.ItemID = &id
			faults.Add(path, "is already the number of the open item %q", id)
		} else {
			duplicate.FirstIndex = &at
			faults.Add(path, "is also the number of items.%d", at)
		}
		if duplicates = append(duplicates, duplicate); in.OnDuplicate == OnDuplicateKeep {
			added = append(added, item)
		}
	}
	if in.OnDuplicate == OnDuplicateRefuse {
		return added, duplicates, faults.As(Conflict)
	}
	return added, duplicates, nil
}
