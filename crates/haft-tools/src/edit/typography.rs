//! Which characters are the same but for typography: quotes, dashes, hard spaces, and accents written as one
//! character or as two.
//!
//! Not here: letters that merely look alike, ligatures and widths, which are different in a source file.

use std::{collections::HashMap, sync::LazyLock};

/// Writes `character` in its plain form: ASCII quotes, dashes and spaces, letters apart from their accents.
pub(super) fn fold(character: char, plain: &mut String) {
    match character {
        _ if character.is_ascii() => plain.push(character),
        '\u{2018}'..='\u{201b}' | '\u{2032}' => plain.push('\''),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => plain.push('"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
        _ if is_hard_space(character) => plain.push(' '),
        '\u{ac00}'..='\u{d7a3}' => decompose_hangul(character, plain),
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => decompose(character, plain),
        _ => plain.push(character),
    }
}

/// Whether `plain` is all that is left of `character`.
pub(super) fn is_plain_form(plain: char, character: char) -> bool {
    let mut folded = String::new();
    fold(character, &mut folded);
    folded.chars().eq([plain])
}

/// Blanks at the end of a line, hard ones among them.
pub(super) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t') || is_hard_space(character)
}

fn is_hard_space(character: char) -> bool {
    matches!(character, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

fn decompose(character: char, plain: &mut String) {
    match LETTERS.get(&character) {
        Some((letter, accent)) => {
            decompose(*letter, plain); // Vietnamese letters carry two
            plain.push(*accent);
        }
        None => plain.push(character),
    }
}

/// Syllables are laid out by arithmetic: 19 leading, 21 middle and 28 trailing parts.
fn decompose_hangul(syllable: char, plain: &mut String) {
    let index = u32::from(syllable) - 0xac00;
    let parts = [0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11a7 + index % 28];
    let has_tail = !index.is_multiple_of(28);
    plain.extend(parts.into_iter().take(2 + usize::from(has_tail)).filter_map(char::from_u32));
}

static LETTERS: LazyLock<HashMap<char, (char, char)>> = LazyLock::new(|| {
    let mut letters = HashMap::new();
    for (accent, pairs) in ACCENTS {
        let mut characters = pairs.chars();
        while let (Some(letter), Some(accented)) = (characters.next(), characters.next()) {
            letters.insert(accented, (letter, *accent));
        }
    }
    letters
});

/// For each accent the letters that carry it: without, with, without, with, … (Latin letters of Unicode's canonical
/// decompositions).
#[rustfmt::skip]
const ACCENTS: &[(char, &str)] = &[
    ('\u{300}', "AÀEÈIÌOÒUÙaàeèiìoòuùÜǛüǜNǸnǹĒḔēḕŌṐōṑWẀwẁÂẦâầĂẰăằÊỀêềÔỒôồƠỜơờƯỪưừYỲyỳ"),
    ('\u{301}', "AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆcćLĹlĺNŃnńRŔrŕSŚsśZŹzźÜǗüǘGǴgǵÅǺåǻÆǼæǽØǾøǿÇḈçḉĒḖēḗÏḮïḯKḰkḱMḾmḿÕṌõṍŌṒōṓPṔpṕŨṸũṹWẂwẃÂẤâấĂẮăắÊẾêếÔỐôốƠỚơớƯỨưứ"),
    ('\u{302}', "AÂEÊIÎOÔUÛaâeêiîoôuûCĈcĉGĜgĝHĤhĥJĴjĵSŜsŝWŴwŵYŶyŷZẐzẑẠẬạậẸỆẹệỌỘọộ"),
    ('\u{303}', "AÃNÑOÕaãnñoõIĨiĩUŨuũVṼvṽÂẪâẫĂẴăẵEẼeẽÊỄêễÔỖôỗƠỠơỡƯỮưữYỸyỹ"),
    ('\u{304}', "AĀaāEĒeēIĪiīOŌoōUŪuūÜǕüǖÄǞäǟȦǠȧǡÆǢæǣǪǬǫǭÖȪöȫÕȬõȭȮȰȯȱYȲyȳGḠgḡḶḸḷḹṚṜṛṝ"),
    ('\u{306}', "AĂaăEĔeĕGĞgğIĬiĭOŎoŏUŬuŭȨḜȩḝẠẶạặ"),
    ('\u{307}', "CĊcċEĖeėGĠgġIİZŻzżAȦaȧOȮoȯBḂbḃDḊdḋFḞfḟHḢhḣMṀmṁNṄnṅPṖpṗRṘrṙSṠsṡŚṤśṥŠṦšṧṢṨṣṩTṪtṫWẆwẇXẊxẋYẎyẏſẛ"),
    ('\u{308}', "AÄEËIÏOÖUÜaäeëiïoöuüyÿYŸHḦhḧÕṎõṏŪṺūṻWẄwẅXẌxẍtẗ"),
    ('\u{309}', "AẢaảÂẨâẩĂẲăẳEẺeẻÊỂêểIỈiỉOỎoỏÔỔôổƠỞơởUỦuủƯỬưửYỶyỷ"),
    ('\u{30a}', "AÅaåUŮuůwẘyẙ"),
    ('\u{30b}', "OŐoőUŰuű"),
    ('\u{30c}', "CČcčDĎdďEĚeěLĽlľNŇnňRŘrřSŠsšTŤtťZŽzžAǍaǎIǏiǐOǑoǒUǓuǔÜǙüǚGǦgǧKǨkǩƷǮʒǯjǰHȞhȟ"),
    ('\u{30f}', "AȀaȁEȄeȅIȈiȉOȌoȍRȐrȑUȔuȕ"),
    ('\u{311}', "AȂaȃEȆeȇIȊiȋOȎoȏRȒrȓUȖuȗ"),
    ('\u{31b}', "OƠoơUƯuư"),
    ('\u{323}', "BḄbḅDḌdḍHḤhḥKḲkḳLḶlḷMṂmṃNṆnṇRṚrṛSṢsṣTṬtṭVṾvṿWẈwẉZẒzẓAẠaạEẸeẹIỊiịOỌoọƠỢơợUỤuụƯỰưựYỴyỵ"),
    ('\u{324}', "UṲuṳ"),
    ('\u{325}', "AḀaḁ"),
    ('\u{326}', "SȘsșTȚtț"),
    ('\u{327}', "CÇcçGĢgģKĶkķLĻlļNŅnņRŖrŗSŞsşTŢtţEȨeȩDḐdḑHḨhḩ"),
    ('\u{328}', "AĄaąEĘeęIĮiįUŲuųOǪoǫ"),
    ('\u{32d}', "DḒdḓEḘeḙLḼlḽNṊnṋTṰtṱUṶuṷ"),
    ('\u{32e}', "HḪhḫ"),
    ('\u{330}', "EḚeḛIḬiḭUṴuṵ"),
    ('\u{331}', "BḆbḇDḎdḏKḴkḵLḺlḻNṈnṉRṞrṟTṮtṯZẔzẕhẖ"),
];
