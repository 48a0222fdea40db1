"""The words by which users state rules, as data: by language and by strength.

Words of alphabets match whole, in any case. Chinese, Japanese and Korean words match anywhere. Politeness is no marker:
`please`, `bitte` and ください are in orders that are carried out once.
"""

from typing import NamedTuple


class Markers(NamedTuple):
    """What shows in one language that a sentence states a rule; each field holds alternatives of a pattern."""

    prohibition: str
    """Something must not happen."""
    standing: str
    """Something must always be so."""
    limit: str
    """How something should be done: a format, a limit, a preference."""
    once: str
    """The order is for this moment. It outweighs a limit, and neither of the others."""
    remark: str = ""
    """What has a marker and is no rule, such as an idiom."""
    bounded: bool = True
    """Whether words have ends: `\\b` is required around each match."""


LANGUAGES: dict[str, Markers] = {
    "English": Markers(
        prohibition=r"never|(?<!\bi )(?<!\bwe )(?<!\bthey )(?<!\byou )(?:do not|don't|dont)|mustn't|must not|shall not|"
        r"should not|shouldn't|(?:you|agents?|no one|claude|the assistant) (?:may|can|must)(?: ?not|'t)|forbidden|"
        r"prohibited|under no circumstances|in no case|not allowed|avoid|refrain from|stop \w+ing|hands off|"
        r"off[- ]limits|"
        r"without (?:my|asking|approval|permission)|leave [\w/.]+ alone",
        standing="always|from now on|for the rest|as of now|going forward|in (?:the )?future|whenever|(?:every|"
        "each) time|"
        r"at all times|by default|must|shall|require[sd]?|requirement|rules?|constraint|make sure|ensure|remember|"
        r"important|(?:write|end|start|begin|prefix|sign) every|every \w+ (?:must|has to|needs to)|until i say|"
        "as long as|throughout|prefer|instead of|rather than",
        limit=r"^no (?!worries|thanks)\w+s|(?:do|can|may) ?not|(?:don|can)'?t|no longer|only|at least|at most|"
        r"no more than|keep|stick to|use|reply|allowed|(?:answer|respond|write|speak|talk|explain|format)\b.{0,40}\b"
        r"(?:in|as|with)|"
        r"(?:call|address) me (?!back|if|in|at|on|when|a|the|later|to)|refer to me as|"
        "should|ought|before you|after you|when you|unless|until|except|without",
        once="now|right away|this time|for once|just this once|today",
        remark=r"\bnever ?mind(?=\W*$|[.,!;:])|\b(?:thanks|thank you|yes|no),? please\b|\bcan(?:no|')t wait\b|"
        r"\b(?:i|we|they|it|that|this|he|she|you|which|who)(?: really| still| just| also)? "
        r"(?:(?:do|does|did)(?:n'?t| not)|can(?:no|')t|cannot) (?:know|think|see|remember|recall|understand|get|"
        r"feel|believe|mind|care|have|work|exist|matter|seem|find|sure|make)\b|\b(?:why|how come) (?:do|does|"
        r"did|can)\w*"
        r"(?:n'?t)?\b|\b(?:is|was|are|were) (?:not )?allowed\b(?=[^.]*\?)|\bwhat(?:'s| is)? important\b|"
        r"^(?:[A-Z][\w-]+|s?he|they|we|i)(?: (?:is|am|are|was|were|will be)|'s|'m|'re) (?!to\b|"
        r"not\b)[^.;,]*?\buntil\b"
        r"(?= (?:\w+ )?(?:\w+day|tomorrow|tonight|noon|midnight|next \w+|\d|[A-Z]))",
    ),
    "German": Markers(
        prohibition=r"niemals|nie|kein(?:e[nmrs]?)?|keinesfalls|auf keinen fall|unter keinen umständen|verboten|"
        r"untersagt|"
        r"vermeide|(?:darf|darfst|dürfen|sollst|sollen|soll) (?:\w+ ){0,4}nicht|nichts? (?:\w+(?:eln|ern|"
        r"en))(?=\W*$)|"
        r"(?<![^\W_])(?:\w+e|fass|lass|gib|nimm|mach|lösch|schreib|änder|ruf|push|"
        r"commit)(?: [\w/.-]+){0,6} nicht(?= an| |\W*$)",
        standing="immer|stets|muss|musst|müssen|darf|dürfen|ab jetzt|ab sofort|von nun an|künftig|in zukunft|"
        "jedes ?mal|"
        "grundsätzlich|regeln?|unbedingt|pflicht",
        limit="(?:nenn|nenne|nennen sie) mich|duze|sieze|"
        "nur|ausschließlich|antworte|antworten sie|schreibe?|verwende|benutze|nutze|mindestens|höchstens|statt|"
        "anstatt|bevorzuge|soll(?:te|test|ten|st)?|außer|ohne",
        once="jetzt|gerade|diesmal|zuerst|heute|mal|als nächstes",
        remark=r"\b(?:ich|wir|er|sie|es|das|da)\b[^.,;]*\b(?:nicht|kein\w*|nie)\b(?! mehr)|\b(?:immer noch|"
        r"immer wieder|"
        r"wie immer|noch nie|kein problem|keine ahnung|keine sorge)\b|ab und zu",
    ),
    "French": Markers(
        prohibition=r"jamais|interdit\w*|ne pas|(?:ne |n')\w+(?: \w+){0,2} (?:pas|plus|rien)|évite[rz]?|"
        "sous aucun prétexte|en aucun cas",
        standing="toujours|désormais|dorénavant|à partir de maintenant|à l'avenir|systématiquement|doi[st]|devez|"
        "doivent|il faut|obligatoire(?:ment)?|(?:à )?chaque fois|règles?|impérativement|veille[rz]? à|"
        "assure(?:z-vous|-toi)",
        limit="appelle(?:z)?-moi|tutoie|vouvoie|"
        "seulement|uniquement|réponds|répondez|répondre|écris|écrivez|au plus|au moins|plutôt que|au lieu de|"
        "préfère|utilise[rz]?|sauf",
        once="maintenant|cette fois|d'abord|aujourd'hui|tout de suite|ensuite",
        remark=r"\b(?:je|tu|il|elle|on|nous|ils|elles|ça|cela|ce) (?:ne |n')\w+ (?:pas|plus|rien)\b|"
        r"\bn'est(?:-ce)? pas\b|\bpas de (?:souci|problème)\b",
    ),
    "Spanish": Markers(
        prohibition=r"nunca|jamás|prohibid[oa]s?|no (?:se )?(?:deb\w+|pued\w+)|no (?:lo |la |los |las |me |te )?"
        r"(?:toques?|cambie[sn]?|modifi\w+|borre[sn]?|elimine[sn]?|hagas?|escribas?|envíe[sn]?|subas?|agregue[sn]?|"
        r"añadas?|ejecute[sn]?|pongas?|muestre[sn]?|respondas?|olvide[sn]?|edite[sn]?|altere[sn]?|publique[sn]?|"
        r"instale[sn]?|"
        r"abras?|mencione[sn]?|incluyas?|uses|hables?|rompas?)|evita[rn]?|evite|bajo ninguna circunstancia|"
        r"en ningún caso",
        standing="siempre|debe[ns]?|hay que|a partir de ahora|de ahora en adelante|en adelante|cada vez|"
        "obligatori[oa]s?|"
        "reglas?|asegúrate|tienes que|tiene que",
        limit="llámame|llámeme|solo|sólo|solamente|únicamente|responde|responda|contesta|escribe|escriba|usa|use|utiliza|utilice|"
        "al menos|como máximo|en lugar de|en vez de|prefiero|salvo|excepto",
        once="ahora|esta vez|primero|hoy|ya mismo",
        remark=r"\bno (?:sabes|crees|tienes|tienen|pasan|son|estás|están)\b|\bcomo siempre\b",
    ),
    "Italian": Markers(
        prohibition=r"mai|non \w+(?:are|ere|ire|arlo|arla|erlo|irlo)|viet\w+|evita(?:re|te)?|in nessun caso|"
        "per nessun motivo",
        standing="sempre|dev[ei]|devono|dovete|d'ora in poi|da ora in poi|ogni volta|obbligatori[oa]|regol[ae]|"
        "assicurati|bisogna",
        limit="chiamami|mi chiami|"
        "solo|soltanto|solamente|rispondi|rispondete|scrivi|usa|usate|almeno|al massimo|invece di|al posto di|"
        "preferisco|tranne|salvo",
        once="ora|adesso|questa volta|prima|oggi|subito",
    ),
    "Portuguese": Markers(
        prohibition=r"nunca|jamais|não (?:se )?(?:dev\w+|pod\w+)|não (?:\w+(?:e|a|em|am|es|as))(?= )|"
        r"proibid[oa]s?|evite|"
        "em hipótese alguma|em nenhum caso",
        standing="sempre|deve[ms]?|a partir de agora|de agora em diante|daqui em diante|toda vez|obrigatóri[oa]s?|"
        "regras?|certifique-se|tem que",
        limit="me chame|chame-me|"
        "apenas|somente|só|responda|responde|escreva|use|utilize|pelo menos|no máximo|em vez de|ao invés de|"
        "prefiro|exceto",
        once="agora|desta vez|primeiro|hoje",
        remark=r"\bnão (?:era|tenha|seja|esteja|havia|estava|tinha|fosse|sabia|entendia)\b",
    ),
    "Russian": Markers(
        prohibition=r"никогда|нельзя|запрещ\w+|не (?:надо|следует|стоит|нужно)|ни в коем случае|"
        r"не \w+(?:й|йте|ите|ьте|уй|ай|яй)(?:ся|сь)?",
        standing=r"всегда|отныне|впредь|каждый раз|обязательно|долж(?:ен|на|ны|но)|правил\w|этого момента|постоянно|"
        "в дальнейшем",
        limit="(?:называй|зови)(?:те)? меня|"
        r"только|вместо|не (?:более|больше|менее|меньше)|отвечай(?:те)?|пиши(?:те)?|используй(?:те)?|"
        r"предпочита\w+|кроме",
        once="сейчас|на этот раз|сначала|сегодня",
    ),
    "Chinese": Markers(
        prohibition=r"(?<!要)不要|不得|不能|请勿|請勿|切勿|禁止|严禁|嚴禁|不可|不许|不許|不准|绝不|絕不|永远不|永遠不|"
        r"别(?=[改动碰删用写提])|別(?=[改動碰刪用寫提])",
        standing="必须|必須|务必|務必|总是|總是|始终|始終|一律|以后|以後|今后|今後|从现在|從現在|永远|永遠|每次|规则|規則|一定要",
        limit=r"叫我|称呼我|稱呼我|只能|只用|只使用|仅|僅|用.{1,6}(?:回答|回复|回覆|书写|書寫)|至少|最多|不超过|不超過|而不是|代替|应该|應該",
        once="现在(?![起开])|現在(?![起開])|这次|這次|先|一下",
        bounded=False,
    ),
    "Japanese": Markers(
        prohibition=r"ないで(?=ください|下さい|ほし|欲し|ね|よ|。|、|!|\uff01|\s*$)|ては(?:いけ|なら|だめ|ダメ|駄目)|ちゃ(?:だめ|ダメ|いけ)|禁止|厳禁|"
        r"[るすくむつうぬぶぐ]な(?=。|!|\uff01|\s*$)|絶対に|決して",
        standing="必ず|常に|いつも|今後|これからは|これ以降|以降は|毎回|ルール|規則",
        limit=r"と呼(?:んで|び)|だけ|のみ|で(?:答え|回答|書い|返し|返答|出力|記述|説明し)|以内|以下で|の代わりに|形式で|べき|なるべく",
        once="今(?![後日])|今回|まず|次に|ちょっと",
        bounded=False,
    ),
    "Korean": Markers(
        prohibition=r"지 ?마(?:세요|십시오|시오|라|요|$|[ .!])|지 ?말(?:아|고|것|기|라)|금지|"
        r"안 ?(?:됩니다|돼|된다|되)|절대|결코",
        standing="항상|언제나|늘 |반드시|꼭|앞으로|지금부터|이제부터|매번|규칙|할 때마다|때마다",
        limit="라고 (?:불러|부르)|"
        r"만 (?:사용|쓰|써|하)|대신|(?:어|문|말)로 (?:답|대답|작성|써|말|응답)|형식으로|이하|이내|최대|최소",
        once="지금(?!부터)|이번|먼저|잠깐",
        bounded=False,
    ),
}
