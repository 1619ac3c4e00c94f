package read

import (
	"slices"
	"strings"
	"sync"
)

// synonyms are words of service conversations with much the same meaning, folded, in English and French, one group per
// line. Words of a contact and of a tool match if they are in the same group.
const synonyms = `
card carte
lost lose losing perdu perdue perdre egare egaree
stolen theft stole vole volee voler nicked pinched snatched robbed
freeze frozen block bloquer bloque bloquez geler opposition
payment transaction charge charged paiement achat
dispute contest contester conteste litige
recognise recognised recognize unrecognised reconnais reconnaitre
replacement replace remplacement remplacer
appointment rdv rendez
book reserve reserver booking reservation
cancel cancelled canceled annuler annule annulee annulation
move reschedule postpone reporter deplacer change changer modifier
slot creneau window
doctor dr docteur medecin gp
prescription ordonnance
medicine medication medicament tablet tablets pill pills comprime comprimes ibuprofen paracetamol inhaler antibiotics
parcel package colis paquet
delivery deliver delivered livraison livrer livre livree
track locate follow suivi suivre retrouver
neighbour neighbor voisin voisine
porch porche
shed abri cabanon
refund reimburse reimbursed rembourser remboursement rembourse
return retour retourner renvoyer
exchange echange echanger
voucher bon
label etiquette
order ordered commande commander
damaged damage abime abimee casse cassee broken smashed shattered cracked
faulty defective defaut defectueux defectueuse
wrong erreur mistake
flight vol fly
baggage luggage bag suitcase bagage valise
meal food eat repas manger
search look recherche chercher find
warranty guarantee garantie
part piece
product appareil produit device appliance kettle bouilloire vacuum aspirateur purifier purificateur heater toaster
filter filtre
battery batterie
diagnostics diagnostic
plan policy cover coverage contrat formule
renewal renew renouveler renouvellement
price cost prix cout coute couter tarif frais fee expensive
quote devis
link lien
club salle gym
class cours
trial essai
pool piscine
swim swimming nager natation
member membre
membership adhesion
callback rappel rappeler
colleague human humain adviser advisor conseiller conseillere operator
pregnancy pregnant enceinte grossesse
pain douleur hurts hurt sore ache aching painful mal
child kid baby son daughter boy girl toddler children kids enfant bebe fils fille
partner husband wife spouse mari femme
mother mum mom mummy grandmother grandma granny mere
father dad grandfather grandpa pere
angry furious annoyed mad fed furieux furieuse colere
sick ill unwell malade
fever temperature fievre
buy purchase purchased bought acheter achete
died dead deceased mort decede
money cash argent
phone telephone mobile
pet dog cat puppy kitten chien chat
house home flat maison appartement
noise rattle rattling humming buzzing clicking bruit
condition maladie
complaint complain complaints plainte reclamation
urgent urgence emergency
case dossier
cake gateau
open ouvert ouverte ouvrir ouvrez
hours horaires horaire
parking stationnement
morning matin
afternoon midi
evening soir
article item articles
arrive arrivee arrival
late delayed delay retard
smoke smoking fumee fume
burn burning burnt burned brule brulee
bleeding bleed bleeds saigne saignement
leak leaking leaks fuite fuit
end ends ended ending expire expires
lemon citron
chocolate chocolat
almond amande
carrot carotte
vanilla vanille
guest guests people personnes invites
monday lundi
tuesday mardi
wednesday mercredi
thursday jeudi
friday vendredi
saturday samedi
sunday dimanche
`

// sameMeaning maps each word of a group to the group's first word.
var sameMeaning = sync.OnceValue(func() map[string]string {
	first := map[string]string{}
	for line := range strings.Lines(synonyms) {
		words := strings.Fields(line)
		for _, word := range words {
			first[word] = words[0]
		}
	}
	return first
})

// turnsOfPhrase replaces phrases of small words with a word of the same meaning.
var turnsOfPhrase = strings.NewReplacer(
	" where is ", " track ", " where are ", " track ", " where s ", " track ", " ou est ", " track ", " ou sont ",
	" track ", " ou en est ", " track ", " says where ", " track ", " asks where ", " track ",
	" ou se trouve ", " track ", " call me back ", " callback ", " call back ", " callback ", " call me ", " callback ",
	" appelez moi ", " callback ", " ring me ", " callback ", " rappelez moi ", " callback ",
	" me rappeler ", " callback ", " don t recognise ", " not recognise ", " don t recognize ", " not recognise ",
	" see a doctor ", " appointment with doctor ", " see the doctor ", " appointment with doctor ", " see dr ",
	" appointment with doctor ", " voir un medecin ", " appointment doctor ",
	" voir le medecin ", " appointment doctor ", " how much ", " what price ", " combien coute ", " prix ",
	" c est combien ", " prix ",
	" not breathing ", " trouble breathing ", " can t breathe ", " trouble breathing ", " cannot breathe ",
	" trouble breathing ", " stopped breathing ", " trouble breathing ",
	" ne respire plus ", " trouble breathing ", " ne respire pas ", " trouble breathing ", " mal a respirer ",
	" trouble breathing ", " peine a respirer ", " trouble breathing ",
	" mal a la poitrine ", " chest pain ", " douleur a la poitrine ", " chest pain ", " douleurs a la poitrine ",
	" chest pain ", " heart attack ", " chest pain ", " crise cardiaque ", " chest pain ",
	" chest hurts ", " chest pain ", " pain in my chest ", " chest pain ", " saigne beaucoup ", " heavy bleeding ",
	" bleeding a lot ", " heavy bleeding ",
	" send it back ", " return ", " send this back ", " return ", " send back ", " return ", " give it back ", " return ",
	" when will i get ", " when arrive ", " new one ", " replacement ", " new card ", " replacement card ",
	" nouvelle carte ", " replacement card ",
	" not home ", " change delivery ", " not at home ", " change delivery ", " pas chez moi ", " change delivery ",
	" never ordered ", " unordered ", " didn t order ", " unordered ", " did not order ", " unordered ",
	" ne convient pas ", " unsuitable ", " doesn t fit ", " unsuitable ", " does not fit ", " unsuitable ",
	" never arrived ", " not received ", " pas recu ", " not received ",
	" send me a text ", " send text message ", " send me an sms ", " send text message ", " text me ",
	" send text message ", " par sms ", " send text message ", " mot de passe ", " password ",
)

// endings are endings of words to try, in order, until the rest is in a group of synonyms.
var endings = []string{"s", "x", "es", "ed", "d", "ing", "ee", "e", "r"}

// Concepts returns the content words of a text, each as the first of its group of synonyms.
func Concepts(text string) []string { return ConceptsOf(Words(text)) }

// ConceptsOf returns the Concepts of a text with these words.
func ConceptsOf(words []string) []string {
	// Adjacent turns of phrase share a space, so this replaces twice.
	spaced := turnsOfPhrase.Replace(turnsOfPhrase.Replace(" " + strings.Join(words, " ") + " "))
	return Meanings(Content(strings.Fields(spaced)))
}

// Meanings returns each word as the first of its group of synonyms, without repetitions.
func Meanings(words []string) []string {
	var found []string
	for _, word := range words {
		if meaning := ConceptOf(word); !slices.Contains(found, meaning) {
			found = append(found, meaning)
		}
	}
	return found
}

// ConceptOf returns the first word of a folded word's group of synonyms, or the word itself if it has no group.
func ConceptOf(word string) string {
	if first, ok := sameMeaning()[word]; ok {
		return first
	}
	for _, ending := range endings {
		if stem, cut := strings.CutSuffix(word, ending); cut {
			if first, ok := sameMeaning()[stem]; ok {
				return first
			}
		}
	}
	return word
}
